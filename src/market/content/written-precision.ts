import { raiseToPower } from '#kernels/power.js';

/** Rounding of two values in single precision, relative. */
export const SINGLE_PRECISION = 1.3e-7;

/** Maximum number of decimals of vendor prices that are tried. Prices with more are as exact as doubles. */
const DECIMALS_MAX = 9;

/** Unit of the last digit that prices are written with; 0 if they are as exact as a double. */
export function unitOf(prices: readonly number[]): number {
  const decimals = decimalsOf(prices);
  return decimals === undefined ? 0 : raiseToPower(10, -decimals);
}

/** Decimals that prices are written with; undefined if they are as exact as a double. */
export function decimalsOf(prices: readonly number[]): number | undefined {
  let decimals = 0;
  for (const price of prices) {
    const text = String(price);
    const point = text.indexOf('.');
    if (point >= 0) decimals = Math.max(decimals, text.length - point - 1);
    if (decimals > DECIMALS_MAX) return undefined;
  }
  return decimals;
}
