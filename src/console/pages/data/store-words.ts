import type { DataDoubt, Finding } from '#clients/typescript/divisor.js';
import { countValues, formatCount } from '../../words/numbers.js';

/** Meanings of fields that the service computes, and of columns with standard names. */
const MEANINGS: Readonly<Record<string, string>> = {
  AGE: 'Sessions since the first bar',
  BETA: 'Beta against the equally weighted universe, 252 sessions',
  BOOK_TO_PRICE: "Shareholders' equity over market capitalisation",
  BOOK_VALUE: "Shareholders' equity of the company",
  DIVIDENDS: 'Cash per share, on the ex-date',
  DIVIDEND_YIELD: 'Ordinary dividends of the last twelve months over the close',
  FREE_FLOAT: 'Share of the shares outstanding that trades freely',
  FREE_FLOAT_MARKET_CAP: 'Close times freely traded shares',
  MARKET_CAP: 'Close times shares outstanding',
  MOMENTUM: 'Compounded return, 252 sessions',
  PRICE_RETURN: 'Return of a session without ordinary dividends',
  RETURN: 'Return of a session with dividends',
  VALUE_TRADED: 'Close times volume',
  VOLATILITY: 'Annual standard deviation of returns, 252 sessions',
  CLOSE: 'Closing price, as in the store',
  OPEN: 'Opening price',
  HIGH: 'Highest price of the session',
  LOW: 'Lowest price of the session',
  VOLUME: 'Shares traded',
  SHARES_OUTSTANDING: 'Shares issued and held by investors',
  CURRENCY: 'Currency of the prices',
  COUNTRY: 'Country of the company',
  EXCHANGE: 'Exchange of the listing, as a MIC',
  ISSUER: 'Company that issued the share',
  LISTED: 'First day of the listing',
  DELISTED: 'Last day of the listing',
  NAME: 'Name of the company',
};

/** Returns the meaning of a field. Returns an empty text for a column without a standard name. */
export const getMeaning = (name: string): string => MEANINGS[name] ?? '';

/**
 * Describes how many of the large changes of a close that the last read reported are warnings of the audit. The number
 * of warnings is omitted if the read lists only some of the changes. Returns an empty text if it reported none.
 */
export function describeReadJumps(findings: readonly Finding[], warnings: readonly DataDoubt[]): string {
  const jumps = findings.filter(({ code }) => code === 'PRICE_JUMP');
  const reported = jumps.reduce((sum, { count = 1 }) => sum + count, 0);
  if (reported === 0) return '';
  const places = new Set(jumps.flatMap(({ path, places: all = [] }) => [path, ...all]));
  const text = `The last read reported ${countValues(reported, 'large change')} of a close`;
  if (places.size < reported) return `${text}.`;
  const kept = [...places].filter((place) =>
    warnings.some(({ identifier, date }) => place === `market[${identifier} ${date}].CLOSE`),
  ).length;
  return `${text}; the audit keeps ${kept === 0 ? 'none' : formatCount(kept)} as ${kept > 1 ? 'warnings' : 'a warning'}.`;
}
