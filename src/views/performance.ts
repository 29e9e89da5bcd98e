import type { LevelsView } from '#contract/analytics/analytics.js';
import type { PerformanceView, RunFiguresPayload } from '#contract/analytics/run-views.js';
import type { RunMetrics } from '#contract/runs.js';
import {
  computeAnnualReturns,
  computeBacktestMetrics,
  computeBenchmarkStatistics,
  computeDeviation,
  computeDrawdown,
  computeMonthlyReturns,
  computeReturns,
  computeReturnStatistics,
  listDrawdowns,
  rebase,
} from '#domain/analytics/returns.js';
import { warnOfCutBenchmark } from '#domain/backtest/findings.js';
import { type BlockName, VARIANT_BLOCKS } from '#domain/backtest/run-file/blocks.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { Finding } from '#domain/base/findings.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { addMonths, formatDay, parseValidDay } from '#domain/base/time.js';
import { estimateCommonPeriods, estimatePeriodsPerYear } from '#domain/calendars/calendar.js';
import { RETURN_VARIANTS, type ReturnVariant } from '#domain/market/market-data.js';
import { type Producer, yieldBatches } from './formats/batch.js';
import {
  createJsonObject,
  createSeriesMember,
  createTextMember,
  createValueMember,
  createWrittenMember,
  encodeDays,
  type JsonWriter,
  writeSeriesBody,
} from './json/writer.js';
import type { WithFindings } from './preview.js';
import {
  createSpan,
  createWindowSpan,
  findPublishedDivisor,
  readIndexSeries,
  type RequestedDates,
  roundOnDay,
  roundValues,
} from './run-columns.js';
import { findStoredDate } from './weights.js';

/** Maximum number of listed drawdowns, deepest first. */
const DRAWDOWNS_MAX = 10;

interface PerformanceQuery extends RequestedDates {
  readonly of: PerformanceView['of'];
  /** Return variant of the index; null for the variant of its definition. */
  readonly variant: ReturnVariant | null;
}

/** Members of the view that are not series. */
type Figures = Omit<WithFindings<PerformanceView>, 'level' | 'index_level' | 'benchmark_level' | 'drawdown'>;

/** Levels and figures of a run in a window. */
interface Performance extends Figures {
  readonly days: Int32Array;
  /** Level of the measured series, 100 on the first date, [T]. The next field is that of the index. */
  readonly level: Float64Array;
  readonly index: Float64Array;
  /** Levels of the benchmark; null if there are none. */
  readonly sharedDates: SharedDates | null;
}

/**
 * Returns the levels and figures of the portfolio or the index of a stored run. All figures are measured only within
 * the window.
 * @throws Refusal RANGE_TOO_SHORT, VARIANT_NOT_AVAILABLE
 * @cost reads the levels
 */
export function createPerformance(columns: RunColumns, { of, variant, ...window }: PerformanceQuery): Performance {
  const { header } = columns;
  const allDays = columns.i32('days');
  const { from, to } = createWindowSpan(allDays, window);
  const days = allDays.subarray(from, to + 1);
  const isIndex = of === 'index';
  const periods = estimatePeriodsPerYear(allDays);
  const ownBlock = variant === null ? 'indexLevel' : findVariantBlocks(columns, variant).level;
  const measuredValues = isIndex ? readIndexSeries(columns, ownBlock, days) : columns.f64('level', from, to + 1);
  const level = rebase(measuredValues, 100);
  const index = rebase(readIndexSeries(columns, 'indexLevel', days), 100);
  const endLevel = measuredValues.at(-1)!;
  return {
    index_id: header.run_id,
    of,
    return_variant: variant ?? header.variant,
    requested_start: window.start ?? formatDay(allDays[0]!),
    requested_end: window.end ?? formatDay(allDays.at(-1)!),
    start: formatDay(days[0]!),
    end: formatDay(days.at(-1)!),
    observations: days.length,
    days,
    end_level: isIndex ? roundOnDay(columns, 'level', days.at(-1)!)(endLevel) : endLevel,
    day_return: level.at(-1)! / level.at(-2)! - 1, // a window has at least two dates
    level,
    index,
    benchmark: header.benchmark?.id ?? null,
    benchmark_variant: header.benchmark?.variant ?? null,
    sharedDates: findSharedWithBenchmark(columns, days),
    metrics: computeBacktestMetrics(level, isIndex ? null : index, periods),
    statistics: computeReturnStatistics(level, periods),
    benchmark_statistics: computeBenchmarkFigures(columns, { days, level: measuredValues }),
    drawdowns: listDrawdowns(level, DRAWDOWNS_MAX).map(({ peak, trough, recovery, depth }) => ({
      peak: formatDay(days[peak]!),
      trough: formatDay(days[trough]!),
      recovery: recovery === null ? null : formatDay(days[recovery]!),
      depth,
      sessions: (recovery ?? days.length - 1) - peak,
    })),
    annual_returns: Object.fromEntries(computeAnnualReturns(days, level).map(([year, value]) => [String(year), value])),
    findings: warnWithin(columns, days),
    monthly_returns: Object.fromEntries(
      computeMonthlyReturns(days, level).map(({ year, month, value }) => [
        `${year}-${String(month).padStart(2, '0')}`,
        value,
      ]),
    ),
  };
}

const createFigure = <M extends keyof Figures>(member: M) =>
  createValueMember<Figures[M], Performance>((performance) => performance[member]);

const PERFORMANCE = createJsonObject<WithFindings<PerformanceView>, Performance & { readonly dates: Uint8Array }>({
  index_id: createFigure('index_id'),
  of: createFigure('of'),
  return_variant: createFigure('return_variant'),
  requested_start: createFigure('requested_start'),
  requested_end: createFigure('requested_end'),
  start: createFigure('start'),
  end: createFigure('end'),
  observations: createFigure('observations'),
  end_level: createFigure('end_level'),
  day_return: createFigure('day_return'),
  level: createSeriesMember('level', ({ level, dates }) => ({ dates, values: level })),
  index_level: createSeriesMember('index_level', ({ index, dates }) => ({ dates, values: index })),
  benchmark: createFigure('benchmark'),
  benchmark_variant: createFigure('benchmark_variant'),
  benchmark_level: createWrittenMember((json, { sharedDates }) => {
    if (sharedDates === null) return json.raw('null');
    const { days, benchmark } = sharedDates;
    writeSeriesBody(json, { name: 'benchmark_level', dates: encodeDays(days), values: rebase(benchmark, 100) });
  }),
  drawdown: createSeriesMember('drawdown', ({ level, dates }) => ({ dates, values: computeDrawdown(level) })),
  metrics: createFigure('metrics'),
  statistics: createFigure('statistics'),
  benchmark_statistics: createFigure('benchmark_statistics'),
  drawdowns: createFigure('drawdowns'),
  annual_returns: createFigure('annual_returns'),
  findings: createFigure('findings'),
  monthly_returns: createFigure('monthly_returns'),
});

/**
 * Writes a PerformanceView as JSON.
 * @throws Refusal NUMERIC_FAILURE
 * @cost 20 ns per number
 */
export function writePerformance(json: JsonWriter, performance: Performance): void {
  PERFORMANCE.write(json, { ...performance, dates: encodeDays(performance.days) });
}

/**
 * Returns the figures of a whole stored run.
 * @cost reads the levels
 */
export function createMetricsView(columns: RunColumns): RunMetrics {
  const days = columns.i32('days');
  return computeBacktestMetrics(
    rebase(columns.f64('level'), 100),
    rebase(readIndexSeries(columns, 'indexLevel', days), 100),
    estimatePeriodsPerYear(days),
  );
}

interface SharedDates {
  readonly days: Int32Array;
  readonly benchmark: Float64Array;
}

/** Returns the dates of a window on which the benchmark has a level; null if there are none. */
function findSharedWithBenchmark(columns: RunColumns, days: Int32Array): SharedDates | null {
  if (!columns.has('benchmarkDays')) return null;
  const sharedDays = columns.i32('benchmarkDays');
  const from = findLastAtMost(sharedDays, days[0]! - 1) + 1;
  const to = findLastAtMost(sharedDays, days.at(-1)!) + 1;
  return from >= to
    ? null
    : { days: sharedDays.subarray(from, to), benchmark: columns.f64('benchmarkLevel', from, to) };
}

function warnWithin(columns: RunColumns, days: Int32Array): Finding[] {
  const sharedDates = findSharedWithBenchmark(columns, days);
  return sharedDates === null ? [] : warnOfCutBenchmark(columns.header.benchmark!.id, sharedDates.days, days);
}

/**
 * Returns the figures relative to the benchmark; null if there are fewer than three common dates.
 * @param measured days of the window and levels on these days, [T] each
 */
function computeBenchmarkFigures(
  columns: RunColumns,
  { days, level }: { readonly days: Int32Array; readonly level: Float64Array },
): PerformanceView['benchmark_statistics'] {
  const sharedDates = findSharedWithBenchmark(columns, days);
  if (sharedDates === null || sharedDates.days.length < 3) return null;
  return computeBenchmarkStatistics(
    Float64Array.from(sharedDates.days, (day) => level[findLastAtMost(days, day)]!),
    sharedDates.benchmark,
    estimateCommonPeriods(sharedDates.days, days),
  );
}

/** Number of sessions between two dates in the trace of a row. The trace covers the last year. */
const TRACE_STEP = 4;

/**
 * Returns the figures of a stored run for a row of a list.
 * @cost reads the levels
 */
export function createSummaryView(columns: RunColumns): RunFiguresPayload {
  const { header } = columns;
  const days = columns.i32('days');
  const level = columns.f64('level');
  const isIndex = header.run_id === header.index_id;
  return {
    index_id: header.run_id,
    end: formatDay(days.at(-1)!),
    level: isIndex ? roundOnDay(columns, 'level', days.at(-1)!)(columns.f64('indexLevel').at(-1)!) : level.at(-1)!,
    return_variant: header.variant,
    ...computeMoves(days, level),
    index: isIndex ? computeMoves(days, readIndexSeries(columns, 'indexLevel', days)) : null,
    last_rebalance: formatDay(findStoredDate(header.rebalances.at(-1)!, days, days.at(-1)!)),
  };
}

function computeMoves(days: Int32Array, level: Float64Array): NonNullable<RunFiguresPayload['index']> {
  const year = estimatePeriodsPerYear(days);
  const returns = computeReturns(level);
  return {
    day_return: returns.at(-1) ?? null,
    year_to_date: computeAnnualReturns(days, level).at(-1)?.[1] ?? 0,
    volatility: computeDeviation(returns.subarray(Math.max(0, returns.length - year))) * Math.sqrt(year),
    total_return: level.at(-1)! / level[0]! - 1,
    max_drawdown: computeDrawdown(level).reduce((lowest, value) => Math.min(lowest, value), 0),
    trace: sampleTrace(days, level),
  };
}

/** Samples the levels from the last date on or before the same day one year earlier. */
function sampleTrace(days: Int32Array, level: Float64Array): RunFiguresPayload['trace'] {
  const last = level.length - 1;
  const first = Math.max(0, findLastAtMost(days, addMonths(days[last]!, -12)));
  const shownPositions = Array.from(
    { length: Math.ceil((last - first) / TRACE_STEP) },
    (_, k) => first + k * TRACE_STEP,
  );
  shownPositions.push(last);
  return {
    index: shownPositions.map((t) => formatDay(days[t]!)),
    data: shownPositions.map((t) => level[t]!),
    name: 'level',
  };
}

export const produceLevels: Producer<'levels'> = ({ columns, window }, offset) => {
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  const level = columns.f64('level');
  const readKnownLevels = (block: BlockName): Float64Array =>
    columns.has(block) ? readIndexSeries(columns, block, days) : new Float64Array(days.length).fill(Number.NaN);
  const readVariant = (name: ReturnVariant): Float64Array => readKnownLevels(VARIANT_BLOCKS[name].level);
  const selectRange = (values: Float64Array): Float64Array => values.subarray(from, to);
  const roundLevels = (values: Float64Array): Float64Array =>
    roundValues(columns, { of: 'level', days: days.subarray(from, to) }, selectRange(values));
  const indexLevel = readIndexSeries(columns, 'indexLevel', days);
  return yieldBatches<'levels'>(
    {
      count: to - from,
      columns: {
        date: days.subarray(from, to),
        level: roundLevels(level),
        index_level: roundLevels(rebase(indexLevel, 100)),
        price: roundLevels(readVariant('price')),
        total: roundLevels(readVariant('total')),
        net: roundLevels(readVariant('net')),
        dividend_points: selectRange(readKnownLevels('dividendPoints')),
        net_dividend_points: selectRange(readKnownLevels('netDividendPoints')),
        divisor: selectRange(readIndexSeries(columns, findPublishedDivisor(columns), days)),
        return: selectRange(prependMissing(computeReturns(level))),
        drawdown: selectRange(computeDrawdown(level)),
        costs: selectRange(columns.f64('costs')),
        index_points: roundLevels(indexLevel),
      },
    },
    offset,
  );
};

function prependMissing(returns: Float64Array): Float64Array {
  const paddedReturns = new Float64Array(returns.length + 1);
  paddedReturns[0] = Number.NaN;
  paddedReturns.set(returns, 1);
  return paddedReturns;
}

interface LevelsQuery {
  readonly variant: ReturnVariant | null;
  readonly start: string | null;
  readonly end: string | null;
}

/** Levels of the index of a stored run in points, restricted to a window. */
interface PublishedLevels {
  readonly indexId: string;
  readonly variant: ReturnVariant;
  readonly days: Int32Array;
  readonly levels: Float64Array;
  readonly divisor: Float64Array;
}

/**
 * Returns the levels of the index of a run.
 * @throws Refusal VARIANT_NOT_AVAILABLE if the run has no prices for the return variant
 */
export function createIndexLevels(columns: RunColumns, { variant, start, end }: LevelsQuery): PublishedLevels {
  const days = columns.i32('indexDays');
  const from = start === null ? 0 : findFirstAtLeast(days, parseValidDay(start));
  const to = Math.max(from, end === null ? days.length : findLastAtMost(days, parseValidDay(end)) + 1);
  const chosenVariant = variant ?? columns.header.variant;
  const { level, divisor } = findVariantBlocks(columns, chosenVariant);
  return {
    indexId: columns.header.run_id,
    variant: chosenVariant,
    days: days.subarray(from, to),
    levels: columns.f64(level, from, to),
    divisor: columns.f64(divisor, from, to),
  };
}

/** Returns the index levels, rounded to the decimals in the definition. */
export function roundLevels(columns: RunColumns, query: LevelsQuery): PublishedLevels {
  const { days, levels, ...others } = createIndexLevels(columns, query);
  return { ...others, days, levels: roundValues(columns, { of: 'level', days }, levels) };
}

/**
 * Returns the blocks of a return variant of the index.
 * @throws Refusal VARIANT_NOT_AVAILABLE if the run has no prices for the return variant
 */
function findVariantBlocks(columns: RunColumns, variant: ReturnVariant): (typeof VARIANT_BLOCKS)[ReturnVariant] {
  const blocks = VARIANT_BLOCKS[variant];
  if (columns.has(blocks.level)) return blocks;
  const acceptedVariants = RETURN_VARIANTS.filter((returnVariant) => columns.has(VARIANT_BLOCKS[returnVariant].level));
  throw new Refusal(
    'VARIANT_NOT_AVAILABLE',
    `The run of ${columns.header.run_id} has no ${variant} return: its prices include dividends, and it has ${acceptedVariants.join(', ')}.`,
    { variant, accepted: acceptedVariants },
  );
}

const LEVELS = createJsonObject<LevelsView, PublishedLevels & { readonly dates: Uint8Array }>({
  index_id: createTextMember(({ indexId }) => indexId),
  variant: createTextMember(({ variant }) => variant),
  levels: createSeriesMember('level', ({ levels, dates }) => ({ dates, values: levels })),
  divisor: createSeriesMember('divisor', ({ divisor, dates }) => ({ dates, values: divisor })),
});

/**
 * Writes a LevelsView as JSON.
 * @throws Refusal NUMERIC_FAILURE
 * @cost 20 ns per number
 */
export function writeLevels(json: JsonWriter, levels: PublishedLevels): void {
  LEVELS.write(json, { ...levels, dates: encodeDays(levels.days) });
}
