import { count, figure, formatMoney, percent } from './numbers.js';

/** Datapoints in the currency of the index, even for securities in another currency. */
const MONEY: ReadonlySet<string> = new Set(['MARKET_CAP', 'FREE_FLOAT_MARKET_CAP', 'VALUE_TRADED']);
const FRACTIONS: ReadonlySet<string> = new Set([
  'VOLATILITY',
  'MOMENTUM',
  'RETURN',
  'PRICE_RETURN',
  'DIVIDEND_YIELD',
  'FREE_FLOAT',
]);
const SHARES: ReadonlySet<string> = new Set(['VOLUME', 'SHARES_OUTSTANDING']);

/**
 * Formats a value of a datapoint in its unit if the unit is known, for example `12.5 USD`, `20.00%` or `1,000 shares`.
 * @param said description of the datapoint, which starts with its name: `VOLATILITY over 252 sessions`
 * @param currency currency of the index; null if unknown
 */
export function datapointText(
  said: string,
  value: string | number | boolean | null,
  currency: string | null = null,
): string {
  if (value === null) return 'missing';
  if (typeof value !== 'number') return String(value);
  const name = /^[A-Z_]+(?=$|[ ,])/.exec(said)?.[0] ?? '';
  if (MONEY.has(name)) return formatMoney(figure(value), currency);
  if (SHARES.has(name)) return `${count(value)} shares`;
  return FRACTIONS.has(name) ? percent(value) : figure(value);
}
