import { parseValidDay, formatDay } from '#domain/time/days.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { DEFAULT_WINDOW, createLatestRequest, type DerivedName } from '#domain/datapoints/field-request.js';
import { listFieldNames, findReferenceKind, resolveName } from '#domain/datapoints/resolution.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';

/** Request for a datapoint of a run over a range of dates; null for all dates. */
export interface StyleQuestion {
  readonly field: string;
  readonly start: string | null;
  readonly end: string | null;
}

/** Maximum memory of the prepared figures of a run: about a quarter of a thread's cache. */
const STYLE_BYTES_MAX = 12 * 2 ** 20;
/** Bytes per date of a datapoint: mean, coverage and five percentiles, with their texts. */
const BYTES_A_DATE = 180;

/** Maximum number of requests about a run, about ten seconds of idle time. */
const QUESTIONS_MAX = 96;

/** Dates x securities of a request that takes about 100 ms, by the inputs of a datapoint. */
const CELLS = { latest: 900_000, windows: 300_000, beta: 130_000 } as const;

/** Datapoints over one-year windows, which are computed after all other datapoints and in this order. */
const EXPENSIVE_STYLES = new Map<string, number>([
  ['MOMENTUM', CELLS.windows],
  ['VOLATILITY', CELLS.windows],
  ['BETA', CELLS.beta],
] satisfies [DerivedName, number][]);

/**
 * Returns the requests about a run that are made in idle time, in addition to the datapoints prepared for several runs.
 * A datapoint is requested for ranges of dates, then for all dates to produce the text of its figures; the cheapest
 * datapoints first. Datapoints derived from prices and volumes precede columns of the store.
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

/** Returns the numeric datapoints of a market, derived datapoints first. */
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

/** Returns the number of one-year windows per request; 0 if a single window would take much too long. */
function countWindowsAtOnce({ identifiers }: MarketData, field: string): number {
  return Math.round(countCells(field) / (DEFAULT_WINDOW * identifiers.length));
}

interface Positions {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the requests for a datapoint. Ranges begin at blocks of windows, because a range sums the same data before
 * its first date.
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
