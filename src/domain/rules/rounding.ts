/**
 * Returns the smallest integer at least `x`. If a product differs from an integer only by rounding, it counts as that
 * integer: 0.07 of 100 is 7.
 */
export function roundUpTolerantly(x: number): number {
  const nearest = Math.round(x);
  return Math.abs(x - nearest) <= 1e-12 * Math.max(1, nearest) ? nearest : Math.ceil(x);
}

/** Returns the largest integer at most `x`, with the tolerance of `roundUpTolerantly`. */
export function roundDownTolerantly(x: number): number {
  return -roundUpTolerantly(-x);
}
