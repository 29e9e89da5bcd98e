import { formatCount, formatFigure, formatMoney, formatPercent } from './numbers.js';
import { formatCompact } from './quantities.js';

/** Datapoints that are always in the currency of the index. The security may have another currency. */
const MONEY_DATAPOINTS: ReadonlySet<string> = new Set(['MARKET_CAP', 'FREE_FLOAT_MARKET_CAP', 'VALUE_TRADED']);
/** Amounts of the yearly accounts, in the currency of the security. */
const ACCOUNT_DATAPOINTS: ReadonlySet<string> = new Set(['SALES', 'EARNINGS', 'DIVIDENDS', 'BOOK_VALUE']);
const FRACTION_DATAPOINTS: ReadonlySet<string> = new Set([
  'VOLATILITY',
  'MOMENTUM',
  'RETURN',
  'PRICE_RETURN',
  'DIVIDEND_YIELD',
  'EARNINGS_YIELD',
  'RETURN_ON_EQUITY',
  'FREE_FLOAT',
]);
const COUNT_DATAPOINTS: ReadonlySet<string> = new Set(['VOLUME', 'SHARES_OUTSTANDING']);

/** Amount from which money is shortened, for example to `346B`. */
const COMPACT_MIN = 1e9;

/**
 * Formats a value of a datapoint in its unit if the unit is known, for example `12.5 USD`, `20.00%` or `1,000 shares`.
 * @param text description of the datapoint, which starts with its name: `VOLATILITY over 252 sessions`
 * @param currency currency of the index; null if unknown
 */
export function formatDatapoint(
  text: string,
  value: string | number | boolean | null,
  currency: string | null = null,
): string {
  if (value === null) return 'missing';
  if (typeof value !== 'number') return String(value);
  const name = /^(?:(?:mean|median|sum|max|min) of )?([A-Z_]+)(?=$|[ ,])/.exec(text)?.[1] ?? '';
  if (MONEY_DATAPOINTS.has(name))
    return formatMoney(Math.abs(value) < COMPACT_MIN ? formatFigure(value) : formatCompact(value), currency);
  if (COUNT_DATAPOINTS.has(name)) return `${formatCount(value)} shares`;
  return FRACTION_DATAPOINTS.has(name) ? formatPercent(value) : formatFigure(value);
}

/**
 * Formats a value of the reference data of a security in its unit, for example `619,262,000 USD` for SALES.
 * @param currency currency of the security; null if unknown
 */
export const formatReference = (
  name: string,
  value: string | number | boolean | null,
  currency: string | null,
): string =>
  typeof value === 'number' && ACCOUNT_DATAPOINTS.has(name)
    ? formatMoney(formatFigure(value), currency)
    : formatDatapoint(name, value, currency);

/** Names of datapoints that are written as words although they have no underscore. */
const WORDS: ReadonlySet<string> = new Set(['CLOSE', 'VOLUME', ...FRACTION_DATAPOINTS]);

/**
 * Writes the names of datapoints in a text as words: `median of VALUE_TRADED over 60 sessions` becomes `median of value
 * traded over 60 sessions`.
 */
export const writeDatapointNames = (text: string): string =>
  text.replaceAll(/\b[A-Z]+(?:_[A-Z]+)*\b/g, (name) =>
    name.includes('_') || WORDS.has(name)
      ? name.toLowerCase().replaceAll('_', ' ').replaceAll('free float', 'free-float')
      : name,
  );

export const PRICE_BASIS: Readonly<Record<string, string>> = {
  none: 'as traded',
  splits: 'adjusted for splits',
  total: 'adjusted for splits and dividends',
};
