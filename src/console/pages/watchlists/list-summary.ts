import { computeMedian } from '../../words/median.js';
import { countValues } from '../../words/numbers.js';
import { computeDayReturn, computeYearToDate, type YearPrices } from '../names/last-year.js';
import type { Row } from './watched-columns.js';

interface SecurityReturn {
  readonly identifier: string;
  readonly value: number;
}

/** Summary of the securities of a list that have a close on the last date of the data store. */
export interface ListSummary {
  readonly traded: readonly Row[];
  /** Securities of the data store without a close on its last date. */
  readonly ended: readonly Row[];
  /** Securities that the data store does not contain. */
  readonly missing: readonly Row[];
  /** Known returns in ascending order. */
  readonly days: readonly SecurityReturn[];
  readonly years: readonly SecurityReturn[];
  readonly medianDay: number | null;
  readonly medianYear: number | null;
  /** Sum of the known market capitalisations; null if there is none or if they have different currencies. */
  readonly capital: Capital | null;
}

interface Capital {
  readonly sum: number;
  readonly currency: string | null;
  /** Number of securities in the sum. */
  readonly count: number;
}

/** @param lastDate last date of the data store; empty if it has no prices */
export function summariseList(rows: readonly Row[], lastDate: string): ListSummary {
  const stored = rows.filter(({ isMissing }) => !isMissing);
  const traded = stored.filter(({ end }) => end === lastDate);
  const days = listReturns(traded, computeDayReturn);
  const years = listReturns(traded, computeYearToDate);
  return {
    traded,
    ended: stored.filter(({ end }) => end !== lastDate),
    missing: rows.filter(({ isMissing }) => isMissing),
    days,
    years,
    medianDay: findMedian(days),
    medianYear: findMedian(years),
    capital: sumCapital(traded),
  };
}

/** Maximum number of securities that are named in a text. */
const NAMED_MAX = 2;

/** Names a few securities. If there are more, gives only their number. */
export const formatNames = (rows: readonly Row[]): string =>
  rows.length > NAMED_MAX
    ? countValues(rows.length, 'security', 'securities')
    : rows.map(({ identifier }) => identifier).join(' and ');

const listReturns = (
  rows: readonly Row[],
  over: (year: YearPrices | undefined) => number | null,
): readonly SecurityReturn[] =>
  rows
    .flatMap(({ identifier, year }) => {
      const value = over(year);
      return value === null ? [] : [{ identifier, value }];
    })
    .toSorted((a, b) => a.value - b.value);

const findMedian = (returns: readonly SecurityReturn[]): number | null =>
  returns.length === 0 ? null : computeMedian(returns.map(({ value }) => value));

function sumCapital(rows: readonly Row[]): Capital | null {
  const knownRows = rows.filter(({ market_cap: cap }) => cap !== null);
  const [currency = null, ...others] = new Set(knownRows.map((row) => row.currency));
  if (knownRows.length === 0 || others.length > 0) return null;
  return { sum: knownRows.reduce((total, { market_cap: cap }) => total + cap!, 0), currency, count: knownRows.length };
}
