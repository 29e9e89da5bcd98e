import type { BacktestFields } from './backtest-fields.js';
import type { IndexDocument } from './index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import type { PlannedModels } from './used-models.js';
import type { StrategyDocument } from './strategy-document.js';

/** All inputs of a backtest except the market. A stored plan can be run again with the same bits. */
export interface BacktestPlan {
  /** Id under which the run is stored: the index, or a strategy that follows it. */
  readonly runId: string;
  /** Display name of the index or strategy. */
  readonly name: string;
  /** Tracked index. */
  readonly indexId: string;
  /** The index and every document it refers to: parents, `index` universes, a benchmark index and its references. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  /** Stored risk models that the documents use; absent if there are none. */
  readonly models?: PlannedModels;
  readonly request: ResolvedRequest;
  /** Terms on which a strategy follows the index; absent for a portfolio that only holds it. */
  readonly strategy?: StrategyTerms;
}

/** Body of `POST /analytics/{index_id}/backtest`, with defaults from the strategy or the service. */
export type ResolvedRequest = Readonly<BacktestFields>;

/** Trading terms of a strategy in addition to the common terms of a backtest. */
export type StrategyTerms = Readonly<Pick<StrategyDocument, 'rebalance' | 'drift_tolerance' | 'exposure'>> & {
  /** Rows of the constraint set under which targets are solved; absent if there is none. */
  readonly constraints?: readonly ConstraintRow[];
};
