import type { IndexDocument } from '../documents/index-document.js';

/** Everything a backtest depends on besides the market: it can be stored and run again to the same bits. */
export interface BacktestPlan {
  /** Id under which the run is stored: the index, or a strategy that follows it. */
  readonly runId: string;
  /** Display name of what is run. */
  readonly name: string;
  /** The tracked index. */
  readonly indexId: string;
  /** The index and every document it reaches: parents, `index` universes, a benchmark index and what that reaches. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly request: BacktestRequest;
}

/** As in the body of `POST /analytics/{index_id}/backtest`, defaults filled in. */
export interface BacktestRequest {
  readonly benchmark: { readonly id: string; readonly kind: 'index' | 'identifier'; readonly price_column: string } | null;
  readonly start: string | null;
  readonly end: string | null;
  readonly initial_capital: number;
  readonly transaction_cost_bps: number;
}
