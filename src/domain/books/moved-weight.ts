/** Weight change that rounding alone may cause. Sums of uncapped weights differ by about 1e-15. */
const ROUNDING = 1e-12;

/**
 * Returns the sum of the weight reductions from raw to applied weights, as fractions, [n] each. Returns 0 if the sum is
 * only rounding.
 */
export function sumMovedWeight(raw: Float64Array, applied: Float64Array): number {
  let movedWeight = 0;
  for (let i = 0; i < raw.length; i++) {
    const reduction = raw[i]! - applied[i]!;
    if (reduction > 0) movedWeight += reduction;
  }
  return movedWeight > ROUNDING ? movedWeight : 0;
}
