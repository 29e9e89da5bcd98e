import { sharedMetrics, type DatedSeries, type RelativeMetrics } from '../analytics/relative.js';
import { trackingForecast, type TrackingForecast } from '../analytics/tracking-forecast.js';
import { gapsOf, pricingOf, type RecordedGaps, type RecordedPricing } from './record/rows.js';
import type { Run } from './run.js';
import { storedRebalance, type StoredRebalance } from './run-file/header.js';
import type { BenchmarkRun } from '../books/benchmark.js';
import type { ReturnVariant } from '../market/market-data.js';
import { variantOn } from '../market/price-basis.js';
import { formatDay, type Day } from '../time/days.js';
import { Refusal } from '../refusals/refusal.js';

/** What result and overview have of a run beside its compositions, made whole or extended. */
export interface RunSummary extends Pick<
  Run,
  | 'plan'
  | 'days'
  | 'level'
  | 'indexLevel'
  | 'returns'
  | 'drawdown'
  | 'annualReturns'
  | 'metrics'
  | 'totalCosts'
  | 'findings'
  | 'rebalancesWithin'
> {
  /** Return of its index, as the prices of the market have it. */
  readonly variant: ReturnVariant;
  readonly benchmark: Pick<BenchmarkRun, 'reference' | 'variant' | 'relative'> | null;
  /**
   * Beside the index that its index was derived from; null for other indices, and where they share fewer than two
   * dates.
   */
  readonly parent: ParentRun | null;
  /** Whose positions the columns of the gaps are. */
  readonly identifiers: readonly string[];
  readonly gaps: RecordedGaps;
  readonly pricing: RecordedPricing;
  /** Rebalances, the one in force at the start included. */
  readonly rebalancesTotal: number;
  readonly lastRebalance: { readonly date: Day; readonly weights: Float64Array };
}

/** A run beside the parent of its index. */
export interface ParentRun {
  readonly indexId: string;
  readonly relative: RelativeMetrics;
  /** Null without a forecast. */
  readonly forecast: TrackingForecast | null;
}

interface RunBeside extends Pick<RunSummary, 'plan' | 'days' | 'level'> {
  readonly rebalances: readonly StoredRebalance[];
}

/** @param parent its levels on the dates of its book */
export function besideParent({ plan, days, level, rebalances }: RunBeside, parent: DatedSeries): ParentRun | null {
  const indexId = plan.documents[plan.indexId]!.derivation!.source_index_id;
  const own = { days, values: level };
  const relative = sharedMetrics(own, parent);
  const forecasts = rebalances.map(({ at, tracking_error: trackingError }) => ({
    day: days[Math.max(0, at)]!,
    trackingError,
  }));
  return relative && { indexId, relative, forecast: trackingForecast(own, parent, forecasts) };
}

export function summaryOf(run: Run): RunSummary {
  const {
    plan,
    days,
    level,
    indexLevel,
    returns,
    drawdown,
    annualReturns,
    metrics,
    totalCosts,
    findings,
    rebalancesWithin,
    benchmark,
    parent,
    rebalances,
    portfolio,
  } = run;
  return {
    plan,
    days,
    level,
    indexLevel,
    returns,
    drawdown,
    annualReturns,
    metrics,
    totalCosts,
    findings,
    rebalancesWithin,
    benchmark,
    parent:
      parent &&
      besideParent(
        {
          plan,
          days,
          level,
          rebalances: rebalances.map((one) => storedRebalance(one, { sm: portfolio.sm, shift: -portfolio.from })),
        },
        { days: parent.days, values: parent.book.value },
      ),
    variant: variantOn(portfolio.sm.market, run.index.compositions.treatment.dividends),
    identifiers: portfolio.sm.identifiers,
    gaps: gapsOf(run),
    pricing: pricingOf(run),
    rebalancesTotal: rebalances.length,
    lastRebalance: rebalances.at(-1)!,
  };
}

/**
 * Looks for a total loss inside a run: a return from 0 has no value, nor has anything that is measured from it.
 * @throws Refusal NUMERIC_FAILURE
 */
export function assertReturns({ days, level, indexLevel }: Pick<RunSummary, 'days' | 'level' | 'indexLevel'>): void {
  for (const [values, what] of [
    [level, 'portfolio'],
    [indexLevel, 'index'],
  ] as const) {
    const lost = values.indexOf(0);
    if (lost < 0 || lost === values.length - 1) continue;
    const date = formatDay(days[lost]!);
    throw new Refusal(
      'NUMERIC_FAILURE',
      `The ${what} is worth nothing from ${date} on, and returns from 0 have no value. A run that ends on ${date} or before can be measured.`,
      { date },
    );
  }
}
