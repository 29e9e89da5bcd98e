/** Number of low mantissa bits that are rounded away, so that sums of a few differences are exact. */
const ROUNDED_BITS = 4;
const MANTISSA_BITS = 53;

/**
 * Rounds numbers to a common grid. The step of the grid is 2^-48 of the largest power of two up to the largest
 * magnitude, so differences, and sums of a few differences in any order, are exact.
 */
export function roundToCommonGrid(values: readonly number[]): number[] {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (largest === 0) return [...values];
  const step = 2 ** (Math.floor(Math.log2(largest)) + 1 - (MANTISSA_BITS - ROUNDED_BITS));
  return values.map((value) => Math.round(value / step) * step);
}
