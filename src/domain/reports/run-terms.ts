import { BacktestFields } from '../documents/backtest-fields.js';
import type { RunDocument } from '../documents/run-document.js';
import type { Adjustment } from '../market/market-data.js';

/** On what terms a run was made, as far as a report tells it. */
export interface RunTerms {
  readonly transactionCostBps: number;
  /** Price basis of its store; null for a run of a version that did not remember it. */
  readonly adjustment: Adjustment | null;
}

export function termsOf({ request, adjustment }: Pick<RunDocument, 'request' | 'adjustment'>): RunTerms {
  return { transactionCostBps: BacktestFields.parse(request).transaction_cost_bps, adjustment: adjustment ?? null };
}
