import { gapsOf, pricingOf, type RecordedGaps, type RecordedPricing } from './run-record.js';
import type { Run } from './run.js';
import type { BenchmarkRun } from './benchmark.js';
import type { Day } from '../days.js';

/** What result and overview tell of a run beside its compositions: of one that was made whole, or gone on with. */
export interface RunSummary extends Pick<Run, 'plan' | 'days' | 'level' | 'indexLevel' | 'returns' | 'drawdown' | 'annualReturns' | 'metrics' | 'totalCosts' | 'findings' | 'rebalancesWithin'> {
  readonly benchmark: Pick<BenchmarkRun, 'reference' | 'variant' | 'relative'> | null;
  /** Whose positions the columns of the gaps are. */
  readonly identifiers: readonly string[];
  readonly gaps: RecordedGaps;
  readonly pricing: RecordedPricing;
  /** Rebalances, the one in force at the start included. */
  readonly rebalancesTotal: number;
  readonly lastRebalance: { readonly date: Day; readonly weights: Float64Array };
}

export function summaryOf(run: Run): RunSummary {
  const { plan, days, level, indexLevel, returns, drawdown, annualReturns, metrics, totalCosts, findings, rebalancesWithin, benchmark, rebalances, portfolio } = run;
  return {
    plan, days, level, indexLevel, returns, drawdown, annualReturns, metrics, totalCosts, findings, rebalancesWithin, benchmark,
    identifiers: portfolio.sm.identifiers,
    gaps: gapsOf(run),
    pricing: pricingOf(run),
    rebalancesTotal: rebalances.length,
    lastRebalance: rebalances.at(-1)!,
  };
}
