import {
  computeRelativeMetrics,
  computeSharedMetrics,
  computeTrackingForecast,
  type DatedSeries,
  type RelativeMetrics,
  type TrackingForecast,
} from '../analytics/relative-returns.js';
import { computeAnnualReturns, computeDrawdown, computeReturns, rebase } from '../analytics/returns.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { BenchmarkRun } from '../books/benchmark.js';
import type { BacktestPlan } from '../definition/backtest-plan.js';
import type { ReturnVariant } from '../market/market-data.js';
import { assertFinite, type RecordedGaps, type RecordedPricing } from './record.js';
import type { StoredRebalance } from './run-file/header.js';
import { openRecordParts, readLatestWeights, type RunColumns } from './run-file/columns.js';
import type { Run } from './run.js';

/** Figures and series of a run for the result and overview views. */
export interface RunSummary extends Pick<
  Run,
  'plan' | 'days' | 'level' | 'indexLevel' | 'metrics' | 'totalCosts' | 'findings' | 'rebalancesWithin'
> {
  readonly returns: Float64Array;
  readonly drawdown: Float64Array;
  readonly annualReturns: readonly (readonly [year: number, value: number])[];
  /**
   * Return variant of the index level. It depends on the dividend treatment and on the adjustment of the market prices.
   */
  readonly variant: ReturnVariant;
  readonly benchmark: Pick<BenchmarkRun, 'reference' | 'variant' | 'relative'> | null;
  /**
   * Comparison with the parent of a derived index. Null if the index is not derived, or if run and parent share fewer
   * than two dates.
   */
  readonly parent: ParentRun | null;
  /** Identifiers to which the columns of the gaps refer. */
  readonly identifiers: readonly string[];
  readonly gaps: RecordedGaps;
  readonly pricing: RecordedPricing;
  /** Number of rebalances, including the one in force at the start of the run. */
  readonly rebalancesTotal: number;
  readonly lastRebalance: { readonly date: Day; readonly weights: Float64Array };
}

/** Run relative to the parent of the derived index. */
export interface ParentRun {
  readonly indexId: string;
  readonly relative: RelativeMetrics;
  /** Comparison of forecast and realised tracking error; null without a forecast. */
  readonly forecast: TrackingForecast | null;
}

interface ComparedRun extends Pick<RunSummary, 'plan' | 'days' | 'level'> {
  readonly rebalances: readonly StoredRebalance[];
}

/**
 * Compares a run with the parent of its derived index. Returns null with fewer than two shared dates.
 * @param parent levels of the parent on the dates of the parent's book
 */
export function compareWithParent(
  { plan, days, level, rebalances }: ComparedRun,
  parent: DatedSeries,
): ParentRun | null {
  const indexId = plan.documents[plan.indexId]!.derivation!.source_index_id;
  const levels = { days, values: level };
  const relative = computeSharedMetrics(levels, parent);
  const forecasts = rebalances.map(({ at, tracking_error: trackingError }) => ({
    day: days[Math.max(0, at)]!,
    trackingError,
  }));
  return relative && { indexId, relative, forecast: computeTrackingForecast(levels, parent, forecasts) };
}

/**
 * Returns the summary of a stored run.
 * @param plan plan of the run
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export function summariseRun(columns: RunColumns, plan: BacktestPlan): RunSummary {
  const { header } = columns;
  const recordParts = openRecordParts(columns);
  const days = columns.i32('days');
  const level = columns.f64('level');
  const runLevels = { days, values: level };
  const benchmark = recordParts.levels('benchmark');
  const parent = recordParts.levels('parent');
  const last = header.rebalances.at(-1)!;
  return {
    plan,
    days,
    level,
    indexLevel: rebase(columns.f64('indexLevel').subarray(columns.i32('indexDays').indexOf(days[0]!)), 100),
    returns: computeReturns(level),
    drawdown: computeDrawdown(level),
    annualReturns: computeAnnualReturns(days, level),
    metrics: recordParts.metrics(),
    findings: recordParts.findings(),
    totalCosts: columns.f64('costs').reduce((sum, cost) => sum + cost, 0),
    rebalancesWithin: header.rebalances.filter(({ at }) => at >= 0).length,
    benchmark: benchmark && {
      relative: computeRelativeMetrics(runLevels, benchmark),
      reference: plan.request.benchmark!,
      variant: header.benchmark!.variant!,
    },
    parent: parent && compareWithParent({ plan, days, level, rebalances: header.rebalances }, parent),
    variant: header.variant,
    identifiers: recordParts.identifiers,
    gaps: recordParts.gaps(),
    pricing: recordParts.pricing(),
    rebalancesTotal: header.rebalances.length,
    lastRebalance: { date: parseValidDay(last.date), weights: readLatestWeights(columns) },
  };
}

/** Figures of a run that are checked before the run is stored. */
interface RunFigures extends Pick<RunSummary, 'days' | 'level' | 'indexLevel' | 'metrics'> {
  readonly relative: RelativeMetrics | null;
}

/**
 * Checks that a result can represent all figures.
 * @throws Refusal NUMERIC_FAILURE after a total loss inside the run, or if a figure is not finite
 */
export function assertMeasured({ metrics, relative, ...series }: RunFigures): void {
  assertReturns(series);
  const figures = [...Object.values(metrics), ...Object.values(relative ?? {})];
  for (const figure of figures) if (typeof figure === 'number') assertFinite(Float64Array.of(figure));
  for (const values of [series.level, series.indexLevel]) assertFinite(values);
}

/**
 * Checks that a run has no total loss before its last date, because no return can be computed from level 0.
 * @throws Refusal NUMERIC_FAILURE
 */
export function assertReturns({ days, level, indexLevel }: Pick<RunSummary, 'days' | 'level' | 'indexLevel'>): void {
  for (const [values, what] of [
    [level, 'portfolio'],
    [indexLevel, 'index'],
  ] as const) {
    const lossPosition = values.indexOf(0);
    if (lossPosition < 0 || lossPosition === values.length - 1) continue;
    const date = formatDay(days[lossPosition]!);
    throw new Refusal(
      'NUMERIC_FAILURE',
      `The value of the ${what} is 0 from ${date} on, so later returns are undefined. Choose an end date of ${date} or earlier.`,
      { date },
    );
  }
}
