/** Returns the bound below which a minimised value improves on another one by a relative share. */
export function computeImprovementBound(value: number, share: number): number {
  return value * (value < 0 ? 1 + share : 1 - share);
}
