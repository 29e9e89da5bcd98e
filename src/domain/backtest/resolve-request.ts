import { BacktestFields } from '../documents/backtest-fields.js';
import type { ResolvedRequest } from '../documents/backtest-plan.js';
import type { IndexDocument } from '../documents/index-document.js';
import type { StrategyDocument } from '../documents/strategy-document.js';
import { refuseWithFindings } from '../refusals/refusal.js';

/** Returns the terms of a run. Request terms take precedence over strategy terms, and strategy terms over defaults. */
export function resolveRequest(
  overrides: { readonly [K in keyof ResolvedRequest]?: ResolvedRequest[K] | undefined },
  strategy?: StrategyDocument,
): ResolvedRequest {
  const strategyTerms = strategy && {
    benchmark: strategy.benchmark,
    start: strategy.start,
    end: strategy.end,
    initial_capital: strategy.initial_capital,
    transaction_cost_bps: strategy.transaction_cost_bps,
  };
  const request = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
  return BacktestFields.parse({ ...strategyTerms, ...request });
}

/**
 * Refuses an index as its own benchmark.
 * @throws Refusal if the benchmark of an index is the index itself
 */
export function assertForeign({ id }: IndexDocument, { benchmark }: ResolvedRequest): void {
  if (benchmark?.kind !== 'index' || benchmark.id !== id) return;
  throw refuseWithFindings('request', [
    {
      severity: 'error',
      code: 'BENCHMARK_IS_SELF',
      message: `The benchmark ${id} is the index of the backtest.`,
      path: 'benchmark.id',
      value: id,
    },
  ]);
}
