import { service } from '../../state/service.js';
import { subtractMonths } from '../../words/dates.js';

/** Closes of the last year with their dates. The request determines how they are adjusted. */
export interface YearPrices {
  readonly dates: readonly string[];
  readonly closes: readonly number[];
}

/** Price bases of closes: dividends are reinvested, or closes are on the share basis of the last date. */
type Adjustment = 'total' | 'splits';

/** Returns the query of a store. Default: the served store. */
export const storeQuery = (store?: string) => (store === undefined ? {} : { store_id: store });

/**
 * Reads the closes of the year before a date. By default they are adjusted for splits and dividends. The first close is
 * the base of the one-year return: the last close on or before the day one year earlier.
 */
export async function readYear(
  identifier: string,
  end: string,
  signal: AbortSignal,
  store?: string,
  adjust: Adjustment = 'total',
): Promise<YearPrices> {
  const firstDate = subtractMonths(end, 12);
  const { prices } = await service.value.call('getPrices', {
    params: { identifier },
    query: { start: subtractMonths(firstDate, 1), end, columns: ['CLOSE'], adjust, ...storeQuery(store) },
    signal,
  });
  const knownCloses = prices.data.flatMap(([close], at) =>
    typeof close === 'number' ? [{ date: String(prices.index[at]), close }] : [],
  );
  const year = knownCloses.slice(
    Math.max(
      0,
      knownCloses.findLastIndex(({ date }) => date <= firstDate),
    ),
  );
  return { dates: year.map(({ date }) => date), closes: year.map(({ close }) => close) };
}

/** Returns the position of the last close on or before a date. Returns -1 if there is none. */
const findPosition = (year: YearPrices, date: string): number => year.dates.findLastIndex((own) => own <= date);

/** Returns the return since the last close on or before a date. Returns null if there is none. */
function returnSince(year: YearPrices, date: string): number | null {
  const position = findPosition(year, date);
  return position < 0 ? null : year.closes.at(-1)! / year.closes[position]! - 1;
}

/** Lowest and highest close of the year that ends with the last date. */
export interface Extremes {
  readonly low: number;
  readonly lowDate: string;
  readonly high: number;
  readonly highDate: string;
}

/** Returns the extremes of a year; null if there are no closes. */
export function findExtremes({ dates, closes }: YearPrices): Extremes | null {
  if (closes.length === 0) return null;
  const [low, high] = [Math.min(...closes), Math.max(...closes)];
  return { low, lowDate: dates[closes.indexOf(low)]!, high, highDate: dates[closes.indexOf(high)]! };
}

/**
 * Returns the dates from which returns to the last close are measured. A date is null if there is no close on or before
 * it.
 */
export function findStarts(year: YearPrices) {
  const last = year.dates.at(-1);
  const formatDate = (day: string) => year.dates[findPosition(year, day)] ?? null;
  return {
    day: year.dates.at(-2) ?? null,
    month: last === undefined ? null : formatDate(subtractMonths(last, 1)),
    ytd: last === undefined ? null : formatDate(findYearEndBefore(last)),
    year: last === undefined ? null : formatDate(subtractMonths(last, 12)),
  };
}

const findYearEndBefore = (date: string): string => `${Number(date.slice(0, 4)) - 1}-12-31`;

/** Returns the return over the given number of months that end with the last close. */
export const computeReturnOver = (year: YearPrices | undefined, months: number): number | null =>
  year === undefined || year.dates.length === 0 ? null : returnSince(year, subtractMonths(year.dates.at(-1)!, months));

/** Returns the return of the last session. */
export function computeDayReturn(year: YearPrices | undefined): number | null {
  const [before, last] = year?.closes.slice(-2) ?? [];
  return before === undefined || last === undefined ? null : last / before - 1;
}

/** Returns the return since the last close of the previous year. */
export const computeYearToDate = (year: YearPrices | undefined): number | null =>
  year === undefined || year.dates.length === 0 ? null : returnSince(year, findYearEndBefore(year.dates.at(-1)!));

const YEAR_SESSIONS = 252;

/**
 * Computes the standard deviation of the daily returns of the year, annualised. Returns null for fewer than two
 * returns.
 */
export function computeVolatility({ closes }: YearPrices): number | null {
  const returns = closes.slice(1).map((close, at) => close / closes[at]! - 1);
  if (returns.length < 2) return null;
  const mean = returns.reduce((sum, one) => sum + one, 0) / returns.length;
  const variance = returns.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (returns.length - 1);
  return Math.sqrt(YEAR_SESSIONS * variance);
}

/** Maximum number of concurrent requests. */
const REQUEST_CONCURRENCY = 4;

let freeRequests = REQUEST_CONCURRENCY;
const waitingRequests: (() => void)[] = [];

/**
 * Runs a request when fewer than `REQUEST_CONCURRENCY` requests are running. If it is aborted before that, it is not
 * sent.
 */
export async function runInTurn<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  if (freeRequests === 0) await new Promise<void>((resolve) => void waitingRequests.push(resolve));
  else freeRequests--;
  try {
    signal.throwIfAborted();
    return await ask();
  } finally {
    const next = waitingRequests.shift();
    if (next === undefined) freeRequests++;
    else next();
  }
}

interface LastPrice {
  readonly identifier: string;
  /** Last date with a price; null if there is none. */
  readonly end: string | null;
}

/** Reads the closes of the last year for several securities. Only a few requests run at the same time. */
export async function readYears(
  securities: readonly LastPrice[],
  signal: AbortSignal,
  store?: string,
): Promise<ReadonlyMap<string, YearPrices>> {
  const years = await Promise.all(
    securities.map(async ({ identifier, end }) =>
      end === null
        ? []
        : [[identifier, await runInTurn(() => readYear(identifier, end, signal, store), signal)] as const],
    ),
  );
  return new Map(years.flat());
}
