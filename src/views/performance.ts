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
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import type { Finding } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { addMonths, formatDay } from '#domain/base/time.js';
import { estimateCommonPeriods, estimatePeriodsPerYear } from '#domain/calendars/calendar.js';
import type { ReturnVariant } from '#domain/market/market-data.js';
import {
  createJsonObject,
  createSeriesMember,
  createValueMember,
  createWrittenMember,
  encodeDays,
  type JsonWriter,
  writeSeriesBody,
} from './json/writer.js';
import { findVariantBlocks } from './levels.js';
import type { WithFindings } from './preview.js';
import { createWindowSpan, readIndexSeries, type RequestedDates, roundOnDay } from './run-columns.js';
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
export interface Performance extends Figures {
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
