import type { LevelsDifference } from '#domain/backtest/levels-difference.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { EarlierContentFiles } from './files.js';
import type { ModelFiles } from './indices.js';

/** Paths of the columns of two stored runs. */
export interface CompareLevelsInput {
  readonly from: string;
  readonly to: string;
}

export interface CompareLevelsOutput extends LevelsDifference {
  /** Total returns of both runs. */
  readonly totalReturns: readonly [number, number];
}

export interface TotalReturnInput {
  readonly market: MarketHandle;
  readonly plan: BacktestPlan;
  readonly models?: ModelFiles;
  readonly known?: EarlierContentFiles;
}
