import type { BacktestFields } from './backtest-fields.js';
import type { IndexDocument } from './index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import type { PlannedModels } from './used-models.js';
import type { StrategyDocument } from './strategy-document.js';

/** All inputs of a backtest except the market. Repeating a stored plan gives bit-identical results. */
export interface BacktestPlan {
  /** Id under which the run is stored: the id of the index, or of a strategy that follows it. */
  readonly runId: string;
  /** Display name of the index or strategy. */
  readonly name: string;
  /** Id of the tracked index. */
  readonly indexId: string;
  /**
   * The index and every document that it refers to: parents, indices used as a universe, and a benchmark index with its
   * references.
   */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  /** Stored risk models that the documents use; absent if there are none. */
  readonly models?: PlannedModels;
  readonly request: ResolvedRequest;
  /** Terms by which a strategy follows the index; absent for a portfolio that only holds the index. */
  readonly strategy?: StrategyTerms;
}

/** Body of `POST /analytics/{index_id}/backtest`, with defaults from the strategy or the service. */
export type ResolvedRequest = Readonly<BacktestFields>;

/** Trading terms of a strategy in addition to the common terms of a backtest. */
export type StrategyTerms = Readonly<Pick<StrategyDocument, 'rebalance' | 'drift_tolerance' | 'exposure'>> & {
  /** Constraint rows under which targets are solved; absent without a constraint set. */
  readonly constraints?: readonly ConstraintRow[];
};
