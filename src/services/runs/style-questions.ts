import { parseValidDay, formatDay } from '#domain/time/days.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { DEFAULT_WINDOW, createLatestRequest, type DerivedName } from '#domain/datapoints/field-request.js';
import { listFieldNames, findReferenceKind, resolveName } from '#domain/datapoints/resolution.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';

/** Request for one datapoint of a run over a range of dates. Null means all dates. */
export interface StyleQuestion {
  readonly field: string;
  readonly start: string | null;
  readonly end: string | null;
}

/** Maximum memory in bytes of the prepared figures of a run: about a quarter of a thread's cache. */
const STYLE_BYTES_MAX = 12 * 2 ** 20;
/** Bytes that a datapoint needs per date: mean, coverage and five percentiles, and their texts. */
const BYTES_A_DATE = 180;

/** Maximum number of requests about one run. They take about ten seconds of idle time. */
const QUESTIONS_MAX = 96;

/** Size of a request that takes about 100 ms, as dates x securities. It depends on the inputs of the datapoint. */
const CELLS = { latest: 900_000, windows: 300_000, beta: 130_000 } as const;

/** Datapoints over one-year windows. They are computed after all other datapoints, in this order. */
const EXPENSIVE_STYLES = new Map<string, number>([
  ['MOMENTUM', CELLS.windows],
  ['VOLATILITY', CELLS.windows],
  ['BETA', CELLS.beta],
] satisfies [DerivedName, number][]);

/**
 * Returns the requests about a run that are made in idle time. They complement the datapoints that are prepared for
 * several runs. The cheapest datapoints come first, and datapoints derived from prices and volumes come before columns
 * of the store. Each datapoint is requested for ranges of dates and then for all dates, which writes the text of its
 * figures.
 */
export function listStyleQuestions(
  market: MarketData,
  run: RunDocument,
  otherFields: readonly string[],
): StyleQuestion[] {
  const { dates } = market;
  const span = {
    from: findFirstAtLeast(dates, parseValidDay(run.start)),
    to: findLastAtMost(dates, parseValidDay(run.end)),
  };
  const count = span.to - span.from + 1;
  if (count <= 0) return [];
  const fieldsMax = Math.floor(STYLE_BYTES_MAX / (BYTES_A_DATE * count));
  const fields = listStyleFields(market).filter(
    (name) => !otherFields.includes(name) && countWindowsAtOnce(market, name) > 0,
  );
  const chosenFields = fields.slice(0, fieldsMax).toSorted((a, b) => countCells(b) - countCells(a));
  return chosenFields.flatMap((field) => listQuestions(market, field, span)).slice(0, QUESTIONS_MAX);
}

/** Returns the numeric datapoints of a market. Derived datapoints come first. */
function listStyleFields(market: MarketData): string[] {
  const [derived, stored]: [string[], string[]] = [[], []];
  for (const name of listFieldNames(market)) {
    const result = resolveName(market, createLatestRequest(name));
    if ('missing' in result) continue;
    if (result.dataset === 'derived') derived.push(name);
    else if (result.dataset === 'market' || findReferenceKind(market, name) === 'number') stored.push(name);
  }
  return [...derived, ...stored];
}

const countCells = (field: string): number => EXPENSIVE_STYLES.get(field) ?? CELLS.latest;

/** Returns the number of one-year windows per request. Returns 0 if even one window takes much too long. */
function countWindowsAtOnce({ identifiers }: MarketData, field: string): number {
  return Math.round(countCells(field) / (DEFAULT_WINDOW * identifiers.length));
}

interface Positions {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the requests for a datapoint. A range starts at a block of windows, because each range sums the data before
 * its first date again.
 */
function listQuestions(market: MarketData, field: string, { from, to }: Positions): StyleQuestion[] {
  const { dates } = market;
  const length = DEFAULT_WINDOW * countWindowsAtOnce(market, field);
  const ranges: StyleQuestion[] = [];
  for (let firstPosition = from; firstPosition <= to;) {
    const next = (Math.floor(firstPosition / length) + 1) * length;
    const last = Math.min(to, next - 1);
    ranges.push({ field, start: formatDay(dates[firstPosition]!), end: formatDay(dates[last]!) });
    firstPosition = next;
  }
  return [...ranges, { field, start: null, end: null }];
}
