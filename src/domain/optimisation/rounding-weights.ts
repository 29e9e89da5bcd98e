/** Magnitude below which a weight counts as zero. */
const ROUNDING_WEIGHT = 1e-9;

/** Sets weights that are zero up to rounding to zero, and rescales the other weights to the original sum. */
export function clearRoundingWeights(x: Float64Array): Float64Array {
  let sum = 0;
  let remainder = 0;
  for (const value of x) {
    sum += value;
    if (Math.abs(value) >= ROUNDING_WEIGHT) remainder += value;
  }
  const scale = remainder === 0 || sum === remainder ? 1 : sum / remainder;
  return x.map((value) => (Math.abs(value) < ROUNDING_WEIGHT ? 0 : value * scale));
}
