import { computeRelativeMetrics, type DatedSeries, type RelativeMetrics } from '../analytics/relative-returns.js';
import type { Finding } from '../base/findings.js';
import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import type { Calendar } from '../calendars/calendar.js';
import type { ResolvedRequest } from '../definition/backtest-plan.js';
import type { IndexDocument } from '../definition/index-document.js';
import {
  createPair,
  isRateAvailable,
  readRateSeries,
  refuseRateNotAboveZero,
  requireRatesAboveZero,
} from '../market/rates.js';
import { computeGrowth } from '../market/growth.js';
import {
  closeOn,
  type MarketData,
  type MeasuredVariant,
  type PriceSeries,
  resolveVariant,
} from '../market/market-data.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import type { Book } from './book.js';
import type { Composer, Compositions } from './compositions.js';
import { createIndexTerms, listBookDays, simulateIndexBook } from './index-run.js';
import { type WindowCoverage, limitToCoverage } from './rebalance-dates.js';

type CurrencyDocument = Pick<IndexDocument, 'currency'>;

/**
 * Returns the currency of a series. A series without a currency has that of the store, or otherwise that of the index.
 */
const findSeriesCurrency = (series: PriceSeries, market: MarketData, document: CurrencyDocument): string =>
  series.currency ?? market.currency ?? document.currency;

/**
 * Checks that a series can be a benchmark, without running it.
 * @param range first and last requested day
 * @throws Refusal FX_MISSING if the store has no rate at all; NUMERIC_FAILURE for a value of 0 or less on a session
 */
export function assertSeriesBenchmark(
  series: PriceSeries,
  document: CurrencyDocument,
  { market, calendar, range }: SeriesCheckInput,
): void {
  const currency = findSeriesCurrency(series, market, document);
  const hasPair = (pair: string) => market.identifiers.includes(pair) || market.series?.has(pair) === true;
  if (currency !== document.currency && !isRateAvailable(hasPair, currency, document.currency))
    throw refuseMissingRate(series.identifier, createPair(currency, document.currency));
  const { dates } = market;
  const start = Math.max(range.start, dates[0] ?? range.start);
  assertAboveZero(series, calendar, { start, end: Math.min(range.end, dates.at(-1) ?? range.end) });
}

/**
 * Checks that values in a range are positive, because no growth can be computed from 0 or less.
 * @throws Refusal NUMERIC_FAILURE for a value of 0 or less on a session
 */
export function assertAboveZero(
  { identifier, days, closes }: PriceSeries,
  { isSession }: Pick<Calendar, 'isSession'>,
  { start, end }: SeriesCheckInput['range'],
): void {
  const last = findLastAtMost(days, end);
  for (let position = findFirstAtLeast(days, start); position <= last; position++)
    if (closes[position]! <= 0 && isSession(days[position]!))
      throw refuseNonPositiveValue(identifier, closes[position]!, days[position]!);
}

interface SeriesCheckInput {
  readonly market: MarketData;
  readonly calendar: Pick<Calendar, 'isSession'>;
  readonly range: { readonly start: Day; readonly end: Day };
}

/** Returns the refusal of a value of 0 or less, from which no growth can be computed. */
const refuseNonPositiveValue = (identifier: string, close: number, day: Day): Refusal =>
  new Refusal(
    'NUMERIC_FAILURE',
    `The benchmark ${identifier} is ${close} on ${formatDay(day)}; a benchmark level must be greater than 0.`,
  );

/** Returns the refusal of a series that cannot be converted on a given day, or on any day. */
const refuseMissingRate = (identifier: string, pair: string, day?: Day): Refusal =>
  new Refusal(
    'FX_MISSING',
    `The benchmark ${identifier} needs the exchange rate ${pair}, which the data does not contain${day === undefined ? '' : ` on ${formatDay(day)}`}.`,
    { identifier, pair },
  );

export interface BenchmarkRun {
  readonly reference: NonNullable<ResolvedRequest['benchmark']>;
  readonly variant: MeasuredVariant;
  readonly relative: RelativeMetrics;
  /**
   * Whole level series. The level of an index is in index points; the level of an identifier is 100 on the first date.
   */
  readonly level: DatedSeries;
  /** State of a price series on its last date, from which an extension continues. Null for an index. */
  readonly end: SeriesEnd | null;
  /** Index with its book; null for a plain level series. */
  readonly index: {
    readonly compositions: Compositions;
    readonly book: Book;
    readonly coverage: WindowCoverage | null;
  } | null;
}

/** State from which an extension computes later levels of a plain level series. */
export interface SeriesEnd {
  /** Value of one unit bought on the first date; NaN before that date. */
  readonly level: number;
  /** Value that corresponds to level 100; NaN before the first date. */
  readonly first: number;
}

export interface BenchmarkInput {
  readonly composer: Composer;
  readonly reference: NonNullable<ResolvedRequest['benchmark']>;
  /** Compositions of the tracked index. */
  readonly compositions: Compositions;
  /** Level of the portfolio on the dates of the run. */
  readonly level: DatedSeries;
  readonly from: number;
  readonly to: number;
  /** Requested range. */
  readonly range: { readonly start: Day; readonly end: Day };
}

/**
 * Computes the external benchmark of a run.
 * @throws Refusal BENCHMARK_NOT_FOUND, NO_COMMON_DATES, and every refusal of a benchmark index run
 */
export function runBenchmark(input: BenchmarkInput): BenchmarkRun {
  const { reference, composer, level, range } = input;
  if (reference.kind === 'identifier') return createIdentifierBenchmark(input);
  const compositions = composer.compositions(reference.id);
  const to = findLastAtMost(compositions.sm.sessions, level.days.at(-1)!);
  const book = simulateIndexBook({ compositions, to });
  const series = { days: listBookDays(book), values: book.value };
  const { sm } = compositions;
  const coverage = limitToCoverage(sm.calendar, range);
  return {
    reference,
    variant: resolveVariant(sm.market, compositions.treatment.dividends),
    relative: computeRelativeMetrics(level, series),
    level: series,
    end: null,
    index: { compositions, book, coverage },
  };
}

/**
 * Returns an identifier as a benchmark. A `CLOSE` series grows in the return variant of the index; any other column is
 * used as stored.
 */
function createIdentifierBenchmark({ reference, compositions, level, from, to }: BenchmarkInput): BenchmarkRun {
  const { series, end, variant } = createSeriesBenchmark(compositions, reference, {
    from,
    to,
    begin: { level: Number.NaN, first: Number.NaN },
  });
  return { reference, variant, relative: computeRelativeMetrics(level, series), level: series, end, index: null };
}

/**
 * Returns a plain level series over a span, rebased to 100 on its first date.
 * @throws Refusal BENCHMARK_NOT_FOUND; FX_MISSING; NUMERIC_FAILURE for a value or exchange rate of 0 or less
 */
export function createSeriesBenchmark(
  index: Pick<Compositions, 'sm' | 'treatment' | 'document'>,
  reference: NonNullable<ResolvedRequest['benchmark']>,
  { from, to, begin }: { readonly from: number; readonly to: number; readonly begin: SeriesEnd },
) {
  const { sm, treatment } = index;
  const externalSeries = reference.kind === 'identifier' ? sm.market.series?.get(reference.id) : undefined;
  if (externalSeries !== undefined)
    return rebaseLevels(sm, {
      levels: readExternalLevels(index, externalSeries, { from, to }),
      level: Number.NaN,
      from,
      first: begin.first,
      variant: 'raw',
    });
  const column = sm.columnOf(reference.id);
  const panel = reference.kind === 'identifier' ? sm.market.fields.get(reference.price_column) : undefined;
  if (reference.kind !== 'identifier' || column < 0 || !panel) {
    throw new Refusal(
      'BENCHMARK_NOT_FOUND',
      `The data contains no ${reference.kind === 'identifier' ? reference.price_column : 'CLOSE'} for ${reference.id}.`,
    );
  }
  const isClose = reference.price_column === 'CLOSE';
  const span = { column, from, to };
  if (isClose) requireRatesAboveZero(sm, [column], { currency: createIndexTerms(index).currency, from, to });
  const { levels, level } = isClose
    ? growLevels(sm, computeGrowth(sm, { ...createIndexTerms(index), valuesSpinOffs: true }), span, begin.level)
    : { levels: readRawLevels(sm, panel, span), level: Number.NaN };
  return rebaseLevels(sm, {
    levels,
    level,
    from,
    first: begin.first,
    variant: isClose ? resolveVariant(sm.market, treatment.dividends) : 'raw',
  });
}

interface SeriesLevels {
  /** Levels from session `from` on; NaN on sessions without a value. */
  readonly levels: Float64Array;
  readonly level: number;
  readonly from: number;
  /** Value on the first date, which is rebased to 100; NaN if the levels include the first date. */
  readonly first: number;
  readonly variant: BenchmarkRun['variant'];
}

function rebaseLevels(sm: SessionMarket, { levels, level, from, first: firstLevel, variant }: SeriesLevels) {
  const presentPositions = [...levels.keys()].filter((position) => levels[position] === levels[position]);
  const first = firstLevel === firstLevel ? firstLevel : (levels[presentPositions[0] ?? 0] ?? Number.NaN);
  const series: DatedSeries = {
    days: Int32Array.from(presentPositions, (position) => sm.sessions[from + position]!),
    values: Float64Array.from(presentPositions, (position) => (100 * levels[position]!) / first),
  };
  return { series, end: { level, first }, variant };
}

/**
 * Returns the value of a series for a session. If it has none on this day, returns its latest value before the next
 * session, as that of a month whose last day is no session. NaN if there is none.
 */
function closeForSession(series: PriceSeries, sessions: Int32Array, day: Day): number {
  const close = closeOn(series, day);
  if (close === close) return close;
  const later = findValueBeforeNextSession(series, sessions, day);
  return later === undefined ? Number.NaN : closeOn(series, later);
}

/** Returns the last day with a value after a session and before the next session. Returns undefined if there is none. */
export function findValueBeforeNextSession({ days }: PriceSeries, sessions: Int32Array, day: Day): Day | undefined {
  const next = sessions[findLastAtMost(sessions, day) + 1];
  const last = next === undefined ? undefined : days[findLastAtMost(days, next - 1)];
  return last !== undefined && last > day ? last : undefined;
}

/**
 * Reports the values of a series that are used for an earlier session, because their days are no sessions.
 * @param days sessions of the run, ascending
 */
export function reportMovedValues(series: PriceSeries, sessions: Int32Array, days: Int32Array): Finding[] {
  const moved = [...days].flatMap((day) => {
    const close = closeOn(series, day);
    const later = close === close ? undefined : findValueBeforeNextSession(series, sessions, day);
    return later === undefined ? [] : [`${formatDay(later)} for ${formatDay(day)}`];
  });
  if (moved.length === 0) return [];
  const message = `${moved.length} values of the benchmark ${series.identifier} are on days without a session and are used for the session before: ${moved.slice(0, MOVED_LISTED_MAX).join(', ')}${moved.length > MOVED_LISTED_MAX ? ', ...' : ''}.`;
  return [{ severity: 'info', code: 'NOT_A_SESSION', path: 'benchmark', message }];
}

const MOVED_LISTED_MAX = 3;

/**
 * Returns a stored series in the currency of an index, NaN on sessions without a value, [to - from + 1].
 * @throws Refusal FX_MISSING; NUMERIC_FAILURE for a value of 0 or less, because no growth can be computed from it
 */
function readExternalLevels(
  { sm, document }: Pick<Compositions, 'sm' | 'document'>,
  series: PriceSeries,
  { from, to }: Pick<Span, 'from' | 'to'>,
): Float64Array {
  const { identifier } = series;
  const currency = findSeriesCurrency(series, sm.market, document);
  const rates = currency === document.currency ? null : readRateSeries(sm, currency, document.currency);
  return Float64Array.from({ length: to - from + 1 }, (_, position) => {
    const day = sm.sessions[from + position]!;
    const close = closeForSession(series, sm.calendar.sessions, day);
    if (close <= 0) throw refuseNonPositiveValue(identifier, close, day);
    const rate = rates === null || close !== close ? 1 : rates?.[from + position];
    if (rate !== undefined && rate === rate) return close * rate;
    const conversion = { from: currency, to: document.currency, session: from + position };
    throw (
      refuseRateNotAboveZero(sm, conversion) ??
      refuseMissingRate(identifier, createPair(currency, document.currency), day)
    );
  });
}

interface Span {
  readonly column: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the value of one unit of a security on each session of a span, [to - from + 1], and the value at the end of
 * the span. A session without a price bar has NaN.
 */
function growLevels(
  sm: SessionMarket,
  growth: Float64Array,
  { column, from, to }: Span,
  begin: number,
): { readonly levels: Float64Array; readonly level: number } {
  const levels = new Float64Array(to - from + 1).fill(Number.NaN);
  let level = begin;
  for (let session = from; session <= to; session++) {
    const hasBar = sm.lastBar[readPanelRow(sm, session) + column] === session;
    if (level === level) level *= growth[readPanelRow(sm, session) + column]!;
    else if (hasBar) level = 1;
    if (hasBar) levels[session - from] = level;
  }
  return { levels, level };
}

function readRawLevels(sm: SessionMarket, panel: Float64Array, { column, from, to }: Span): Float64Array {
  return Float64Array.from({ length: to - from + 1 }, (_, position) => sm.valueAt(panel, from + position, column));
}
