import type { BacktestFields } from './backtest-fields.js';
import type { IndexDocument } from './index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import type { PlannedModels } from './used-models.js';
import type { StrategyDocument } from './strategy-document.js';

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
  /** Stored risk models that the documents use; absent where none does. */
  readonly models?: PlannedModels;
  readonly request: ResolvedRequest;
  /** On which terms a strategy follows the index; absent for a portfolio that simply holds it. */
  readonly strategy?: StrategyTerms;
}

/**
 * The body of `POST /analytics/{index_id}/backtest`, with what was not given filled in from the strategy or the
 * defaults.
 */
export type ResolvedRequest = Readonly<BacktestFields>;

/** How a strategy trades, beside what every backtest is given. */
export type StrategyTerms = Readonly<Pick<StrategyDocument, 'rebalance' | 'drift_tolerance' | 'exposure'>> & {
  /** Rows of the constraint set that targets are solved under; absent without one. */
  readonly constraints?: readonly ConstraintRow[];
};
