import type { PerformanceView, RunFiguresPayload } from '#contract/analytics/run-views.js';
import type { SeriesPayload } from '#contract/payloads.js';
import type { RunMetrics } from '#contract/runs.js';
import {
  computeAnnualReturns,
  computeBacktestMetrics,
  computeBenchmarkStatistics,
  computeDeviation,
  computeDrawdown,
  computeReturns,
  computeReturnStatistics,
  listDrawdowns,
  rebase,
} from '#domain/analytics/returns.js';
import { computeMonthlyReturns } from '#domain/analytics/rolling.js';
import { warnOfCutBenchmark } from '#domain/backtest/findings.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { Finding } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { addMonths, formatDay } from '#domain/base/time.js';
import { estimateCommonPeriods, estimatePeriodsPerYear } from '#domain/calendars/calendar.js';
import type { ReturnVariant } from '#domain/market/market-data.js';
import { findVariantBlocks } from './levels.js';
import type { WithFindings } from './preview.js';
import { readIndexSeries, roundOnDay } from './run-columns.js';
import { createWindowSpan, type RequestedDates } from './run-window.js';
import { findStoredDate } from './weights.js';

/** Maximum number of listed drawdowns, deepest first. */
const DRAWDOWNS_MAX = 10;

interface PerformanceQuery extends RequestedDates {
  readonly of: PerformanceView['of'];
  /** Return variant of the index; null for the variant of its definition. */
  readonly variant: ReturnVariant | null;
}

/**
 * Returns the levels and figures of the portfolio or the index of a stored run. All figures are measured only within
 * the window.
 * @throws Refusal RANGE_TOO_SHORT, VARIANT_NOT_AVAILABLE
 * @cost reads the levels
 */
export function createPerformanceView(
  columns: RunColumns,
  { of, variant, ...window }: PerformanceQuery,
): WithFindings<PerformanceView> {
  const { header } = columns;
  const allDays = columns.i32('days');
  const { from, to } = createWindowSpan(allDays, window);
  const days = allDays.subarray(from, to + 1);
  const dates = Array.from(days, formatDay);
  const isIndex = of === 'index';
  const periods = estimatePeriodsPerYear(allDays);
  const ownBlock = variant === null ? 'indexLevel' : findVariantBlocks(columns, variant).level;
  const measuredValues = isIndex ? readIndexSeries(columns, ownBlock, days) : columns.f64('level', from, to + 1);
  const level = rebase(measuredValues, 100);
  const index = rebase(readIndexSeries(columns, 'indexLevel', days), 100);
  const endLevel = measuredValues.at(-1)!;
  const createSeries = (name: string, values: Float64Array): SeriesPayload => ({
    index: dates,
    data: [...values],
    name,
  });
  return {
    index_id: header.run_id,
    of,
    return_variant: variant ?? header.variant,
    requested_start: window.start ?? formatDay(allDays[0]!),
    requested_end: window.end ?? formatDay(allDays.at(-1)!),
    start: dates[0]!,
    end: dates.at(-1)!,
    observations: dates.length,
    end_level: isIndex ? roundOnDay(columns, 'level', days.at(-1)!)(endLevel) : endLevel,
    day_return: level.at(-1)! / level.at(-2)! - 1, // a window has at least two dates
    level: createSeries('level', level),
    index_level: createSeries('index_level', index),
    benchmark: header.benchmark?.id ?? null,
    benchmark_variant: header.benchmark?.variant ?? null,
    benchmark_level: readBenchmarkWithin(columns, days),
    drawdown: createSeries('drawdown', computeDrawdown(level)),
    metrics: computeBacktestMetrics(level, isIndex ? null : index, periods),
    statistics: computeReturnStatistics(level, periods),
    benchmark_statistics: computeBenchmarkFigures(columns, { days, level: measuredValues }),
    drawdowns: listDrawdowns(level, DRAWDOWNS_MAX).map(({ peak, trough, recovery, depth }) => ({
      peak: dates[peak]!,
      trough: dates[trough]!,
      recovery: recovery === null ? null : dates[recovery]!,
      depth,
      sessions: (recovery ?? dates.length - 1) - peak,
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

/** Returns the benchmark on the dates of a window on which it has a level; null if there is no benchmark. */
function readBenchmarkWithin(columns: RunColumns, days: Int32Array): SeriesPayload | null {
  const sharedDates = findSharedWithBenchmark(columns, days);
  if (sharedDates === null) return null;
  return {
    index: Array.from(sharedDates.days, formatDay),
    data: [...rebase(sharedDates.benchmark, 100)],
    name: 'benchmark_level',
  };
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
