/** Returns the value below which a minimised value improves on `value` by a relative amount. */
export function computeImprovementBound(value: number, share: number): number {
  return value * (value < 0 ? 1 + share : 1 - share);
}
