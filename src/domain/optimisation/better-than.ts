/** Returns the bound that a minimised value must stay below to improve on another by a relative share. */
export function betterThan(value: number, share: number): number {
  return value * (value < 0 ? 1 + share : 1 - share);
}
