import type { Memory } from './run-file/block-placement.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { Calendars } from '../calendars/calendar.js';
import type { IndexDocument } from '../documents/index-document.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData, ReturnVariant } from '../market/market-data.js';
import type { BacktestMetrics } from '../analytics/series.js';
import type { StoredModels } from '../risk/stored-model.js';
import type { StoredOverlay } from './extend/overlay-state.js';
import type { BenchmarkRun } from '../books/benchmark.js';
import type { Book, LevelsOnlyEnd, Gap } from '../books/book.js';
import type { Composer, Composition, Compositions, DeciderFactory } from '../books/compositions.js';
import type { DecisionMemory } from '../books/decider.js';
import type { DatedMarkets } from '../books/decision-seats.js';
import type { IndexRun } from '../books/index-run.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import type { StaleCount, StaleFills } from '../books/stale-fills.js';
import type { Trades } from '../books/trades.js';
import type { RequestedRange } from '../books/window.js';

/** Complete result of a backtest as typed arrays; T is the number of run dates. */
export interface Run {
  readonly plan: BacktestPlan;
  readonly document: IndexDocument;
  /** Dates of the run, [T]. */
  readonly days: Int32Array;
  /** Portfolio level, rebased to 100, [T]. */
  readonly level: Float64Array;
  /** Level of the tracked index, rebased to 100, [T]. */
  readonly indexLevel: Float64Array;
  readonly metrics: BacktestMetrics;
  readonly totalCosts: number;
  readonly portfolio: Book;
  readonly trades: Trades;
  readonly index: IndexRun;
  /** Run of the parent of a derived index. */
  readonly parent: IndexRun | null;
  readonly benchmark: BenchmarkRun | null;
  /** Every index composed for the run: the tracked index and the indices in its universe, derivation and benchmark. */
  readonly reached: readonly Compositions[];
  /** Compositions that took effect in the run, preceded by the composition in force at its start. */
  readonly rebalances: readonly Composition[];
  /** Number of rebalances that took effect in the run. */
  readonly rebalancesWithin: number;
  readonly gaps: readonly Gap[];
  /** Trades of the portfolio at prices of an earlier session, by rebalance session. */
  readonly staleFills: ReadonlyMap<number, StaleFills>;
  readonly findings: readonly Finding[];
  /**
   * Index level by return variant, on the dates of the index book. Null if the market prices do not allow the variant.
   */
  readonly variants: Readonly<Record<ReturnVariant, VariantLevel | null>>;
  /** Index level without the cap, on the dates of the index book. Null if the index has no cap. */
  readonly uncapped: Float64Array | null;
  /** State for an extension of the run, in addition to the end states of its books. */
  readonly remains: RunEndState;
}

/** Index in one return variant on the dates of the index book, [B] each. */
export interface VariantLevel {
  readonly level: Float64Array;
  readonly divisor: Float64Array;
}

/** End state of a run that is not part of its results. */
export interface RunEndState {
  /** End states of the books that were simulated only for their levels. */
  readonly variants: Readonly<Partial<Record<ReturnVariant, LevelsOnlyEnd>>>;
  /** Books of the overlay in the other return variants; only for an overlay. */
  readonly overlays?: Readonly<Partial<Record<ReturnVariant, StoredOverlay>>>;
  readonly uncapped: LevelsOnlyEnd | null;
  readonly findings: FindingGroups;
  /** Findings of the decisions on underlying indices, one list per index; only for an overlay. */
  readonly decisionsBeneath?: readonly (readonly Finding[])[];
  readonly stale: StaleCount;
  /** Optimiser state for the constraint set of a strategy; null if it has none. */
  readonly solves: DecisionMemory | null;
}

/** Findings of a run by source, in reporting order. */
export interface FindingGroups {
  readonly decisions: readonly Finding[];
  readonly solves: readonly Finding[];
  readonly indexExits: readonly Finding[];
  readonly portfolioExits: readonly Finding[];
  readonly rights: readonly Finding[];
  readonly jumps: readonly Finding[];
}

export interface RunInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly plan: BacktestPlan;
  /** Stored risk models of the plan; absent if there are none. */
  readonly models?: StoredModels;
  readonly createDecider: DeciderFactory;
  /** Market as known at each decision, for a request for point-in-time data. */
  readonly known?: DatedMarkets | undefined;
  /** Allocates memory for the weights, with space around them for the columns of the run; see `createRunColumns`. */
  readonly memory?: Memory;
  /**
   * True if the memory around the weights has no space for a large block of prices, because that block gets a separate
   * file; see `createRunFiles`.
   */
  readonly pricesApart?: boolean;
  /** Engine of matrix products for the constraint set of a strategy. Default: plain loops. */
  readonly engine?: Engine;
  /** Reports progress from 0 to 1; throws to cancel the run. */
  readonly report: (fraction: number, message: string) => void;
}

/** Part of a run from which metrics are computed: index and portfolio with their history. */
export interface ComputedRun extends Pick<
  Run,
  'document' | 'days' | 'level' | 'indexLevel' | 'portfolio' | 'index' | 'rebalances' | 'metrics' | 'totalCosts'
> {
  readonly composer: Composer;
  readonly range: RequestedRange;
  /** Warnings of the optimisations for the constraint set of a strategy. */
  readonly warnings: readonly Finding[];
  /** Optimiser state after the last optimisation. */
  readonly solves: DecisionMemory | null;
  /** First and last session of the run. */
  readonly from: number;
  readonly to: number;
}

export interface ComputeInput extends RunInput {
  /** Composer of another run with equal documents, end and market; its compositions are reused. */
  readonly composer?: Composer;
  /** Earlier run of this composer; its index is reused if it spans the same sessions. */
  readonly before?: Pick<ComputedRun, 'composer' | 'index' | 'from' | 'to'>;
  /** True if only a portfolio that holds the index needs the weights. Never true for a strategy. */
  readonly levelsOnly?: boolean;
  /** Allocates zeroed memory for the weights if `levelsOnly` is true. */
  readonly roomForWeights?: (cells: number) => Float64Array;
}
