/** What a value that is made small has to be below to be better than another by a share of it. */
export function betterThan(value: number, share: number): number {
  return value * (value < 0 ? 1 + share : 1 - share);
}
