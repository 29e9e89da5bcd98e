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
import type { Book, BriefEnd, Gap } from '../books/book.js';
import type { Composer, Composition, Compositions, DeciderFactory } from '../books/compositions.js';
import type { DecisionMemory } from '../books/decider.js';
import type { KnownMarkets } from '../books/decision-seats.js';
import type { IndexRun } from '../books/index-run.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import type { StaleCount, StaleFills } from '../books/stale-fills.js';
import type { Trades } from '../books/trades.js';
import type { RequestedRange } from '../books/window.js';

/** Complete result of a backtest, on typed arrays: T dates of the run. */
export interface Run {
  readonly plan: BacktestPlan;
  readonly document: IndexDocument;
  /** Dates of the run, [T]. */
  readonly days: Int32Array;
  /** Portfolio rebased to 100, [T]. */
  readonly level: Float64Array;
  /** Tracked index rebased to 100, [T]. */
  readonly indexLevel: Float64Array;
  readonly metrics: BacktestMetrics;
  readonly totalCosts: number;
  readonly portfolio: Book;
  readonly trades: Trades;
  readonly index: IndexRun;
  /** Parent of a derived index. */
  readonly parent: IndexRun | null;
  readonly benchmark: BenchmarkRun | null;
  /** Every index composed for the run: its own, and those that its universe, derivation and benchmark reach. */
  readonly reached: readonly Compositions[];
  /** Compositions that took effect in the run, preceded by the one in force at its start. */
  readonly rebalances: readonly Composition[];
  /** Number of them that took effect in the run. */
  readonly rebalancesWithin: number;
  readonly gaps: readonly Gap[];
  /** Trades of the portfolio at carried prices, by the session of each of its rebalances. */
  readonly staleFills: ReadonlyMap<number, StaleFills>;
  readonly findings: readonly Finding[];
  /**
   * Level of the index by return variant, on the dates of the index book; null if the prices of the market have another
   * basis.
   */
  readonly variants: Readonly<Record<ReturnVariant, VariantLevel | null>>;
  /** Level of the index on its weights before capping, on the dates of the index book; null without a cap. */
  readonly uncapped: Float64Array | null;
  /** End state from which it is resumed, in addition to the ends of its books. */
  readonly remains: RunRemains;
}

/** Index in one return variant, [B] each. */
export interface VariantLevel {
  readonly level: Float64Array;
  readonly divisor: Float64Array;
}

/** End state of a run that its results do not contain. */
export interface RunRemains {
  /** Ends of the books that were simulated only for their levels. */
  readonly variants: Readonly<Partial<Record<ReturnVariant, BriefEnd>>>;
  /** Books of the underlying indices in those return variants; only for an overlay. */
  readonly overlays?: Readonly<Partial<Record<ReturnVariant, StoredOverlay>>>;
  readonly uncapped: BriefEnd | null;
  readonly findings: FindingGroups;
  /** Findings of the decisions on underlying indices, by index; only for an overlay. */
  readonly decisionsBeneath?: readonly (readonly Finding[])[];
  readonly stale: StaleCount;
  /** State of the solves for the constraint set of a strategy; null if it has none. */
  readonly solves: DecisionMemory | null;
}

/** Findings of a run by source, in the order in which they are reported. */
export interface FindingGroups {
  readonly decisions: readonly Finding[];
  readonly solves: readonly Finding[];
  readonly indexExits: readonly Finding[];
  readonly portfolioExits: readonly Finding[];
  readonly rights: readonly Finding[];
}

export interface RunInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly plan: BacktestPlan;
  /** Stored risk models of the plan; absent if there are none. */
  readonly models?: StoredModels;
  readonly createDecider: DeciderFactory;
  /** Market as known at decisions, for a request that asks for it. */
  readonly known?: KnownMarkets | undefined;
  /** Memory for the weights with space around them for the columns of the run: see `runToColumns`. */
  readonly memory?: Memory;
  /** True if the memory around the weights is meant for columns without large prices: see `runToFiles`. */
  readonly pricesApart?: boolean;
  /** Multiplies matrices for the constraint set of a strategy. Default: plain loops. */
  readonly engine?: Engine;
  /** Reports progress, 0 to 1; throws to stop the run. */
  readonly report: (fraction: number, message: string) => void;
}

/** Part of a run that its metrics need: index, portfolio and their history. */
export interface ComputedRun extends Pick<
  Run,
  'document' | 'days' | 'level' | 'indexLevel' | 'portfolio' | 'index' | 'rebalances' | 'metrics' | 'totalCosts'
> {
  readonly composer: Composer;
  readonly range: RequestedRange;
  /** Warnings of the solves for the constraint set of a strategy. */
  readonly warnings: readonly Finding[];
  /** State after the solves. */
  readonly solves: DecisionMemory | null;
  /** First and last session. */
  readonly from: number;
  readonly to: number;
}

export interface ComputeInput extends RunInput {
  /** Composer of another run with the same documents, end and market. Its compositions are reused. */
  readonly composer?: Composer;
  /** Run of the same composer. Its index is reused if it spans the same sessions. */
  readonly before?: Pick<ComputedRun, 'composer' | 'index' | 'from' | 'to'>;
  /** True if only a portfolio that holds the index reads the weights. Never true for a strategy. */
  readonly levelsOnly?: boolean;
  /** Returns zeroed memory for the weights if `levelsOnly` is true. */
  readonly roomForWeights?: (cells: number) => Float64Array;
}
