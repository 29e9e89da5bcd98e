/**
 * Standard deviation, relative to the size of the values, below which values are constant. Prices, levels and their
 * growth have rounding errors of about 1e-16 of their size, which accumulate over a window.
 */
const CONSTANT_DEVIATION = 1e-12;

/** Variance of returns below which they are constant. */
export const CONSTANT_VARIANCE = CONSTANT_DEVIATION ** 2;

/**
 * Returns true if a standard deviation consists of rounding errors.
 * @param scale size of the values. Default: 1, the size of growth factors, from which returns are computed
 */
export function isConstant(deviation: number, scale = 1): boolean {
  return deviation <= CONSTANT_DEVIATION * scale;
}

/**
 * Returns 1 for securities without variance, [n]. Their volatility is 0 relative to the value of a unit and to the
 * largest volatility.
 * @param variances [n]
 */
export function findRiskless(variances: Float64Array): Uint8Array {
  const largest = variances.reduce((most, variance) => Math.max(most, variance), 0);
  const scale = Math.max(1, Math.sqrt(largest));
  return Uint8Array.from(variances, (variance) => (isConstant(Math.sqrt(Math.max(0, variance)), scale) ? 1 : 0));
}
