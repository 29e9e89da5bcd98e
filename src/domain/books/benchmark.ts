import { refuseRateNotAboveZero, readRateSeries, requireRatesAboveZero } from '../market/exchange-rates.js';
import { createPair } from '../market/currency-codes.js';
import { computeGrowth } from '../index-mathematics/growth.js';
import type { MeasuredVariant } from '../market/market-data.js';
import { resolveVariant } from '../market/price-basis.js';
import { closeOn, type PriceSeries } from '../market/series.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { computeRelativeMetrics, type DatedSeries, type RelativeMetrics } from '../analytics/relative.js';
import type { Book } from './book.js';
import type { Composer, Compositions } from './compositions.js';
import { listBookDays, simulateIndexBook, createIndexTerms } from './index-run.js';
import type { ResolvedRequest } from '../documents/backtest-plan.js';
import { findLastAtMost } from '../numbers/search.js';
import type { Day } from '../time/days.js';
import { findSeriesCurrency, refuseNonPositiveValue, refuseMissingRate } from './series-benchmark.js';
import { limitToCoverage, type CalendarCoverage } from './window.js';

/** External benchmark of a run. */
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
    readonly coverage: CalendarCoverage | null;
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

interface SeriesSpan {
  readonly from: number;
  readonly to: number;
  readonly begin: SeriesEnd;
}

/**
 * Returns a plain level series over a span, rebased to 100 on its first date.
 * @throws Refusal BENCHMARK_NOT_FOUND; FX_MISSING; NUMERIC_FAILURE for a value or exchange rate of 0 or less
 */
export function createSeriesBenchmark(
  index: Pick<Compositions, 'sm' | 'treatment' | 'document'>,
  reference: NonNullable<ResolvedRequest['benchmark']>,
  { from, to, begin }: SeriesSpan,
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
    const close = closeOn(series, day);
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
