/** Maximum number of decimals of a price in a message. */
const DECIMALS_MAX = 8;

/**
 * Formats the prices of one message with the same number of decimals: two, or as many as the smallest price needs for
 * three significant digits.
 */
export function formatPrices(prices: readonly number[]): readonly string[] {
  const digits = 2 - Math.floor(Math.log10(Math.min(...prices)));
  const decimals = Number.isNaN(digits) ? 2 : Math.min(DECIMALS_MAX, Math.max(2, digits));
  return prices.map((price) => price.toFixed(decimals));
}
