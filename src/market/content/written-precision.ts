import { raiseToPower } from '#kernels/power.js';

/** Relative rounding error of a comparison of two values in single precision. */
export const SINGLE_PRECISION = 1.3e-7;

/**
 * Maximum number of decimals that are tried for prices of a vendor. Prices with more decimals count as exact doubles.
 */
const DECIMALS_MAX = 9;

/** Returns the unit of the last decimal of prices. Returns 0 if the prices have full double precision. */
export function computeUnit(prices: readonly number[]): number {
  const decimals = countDecimals(prices);
  return decimals === undefined ? 0 : raiseToPower(10, -decimals);
}

/** Returns the number of decimals of prices. Returns undefined if the prices have full double precision. */
export function countDecimals(prices: readonly number[]): number | undefined {
  let decimals = 0;
  for (const price of prices) {
    const text = String(price);
    const point = text.indexOf('.');
    if (point >= 0) decimals = Math.max(decimals, text.length - point - 1);
    if (decimals > DECIMALS_MAX) return undefined;
  }
  return decimals;
}
