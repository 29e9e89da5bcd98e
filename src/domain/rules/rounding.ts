/**
 * The least whole number at least `x`; a product that missed a whole number by a rounding counts as that number: 0.07
 * of 100 is 7.
 */
export function wholeCeiling(x: number): number {
  const nearest = Math.round(x);
  return Math.abs(x - nearest) <= 1e-12 * Math.max(1, nearest) ? nearest : Math.ceil(x);
}

/** The greatest whole number at most `x`, roundings forgiven likewise. */
export function wholeFloor(x: number): number {
  return -wholeCeiling(-x);
}
