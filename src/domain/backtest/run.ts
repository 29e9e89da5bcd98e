import type { Memory } from './run-file/placed.js';
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
import type { KnownMarkets } from '../books/known-seats.js';
import type { IndexRun } from '../books/index-run.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import type { StaleCount, StaleFills } from '../books/stale-fills.js';
import type { Trades } from '../books/trades.js';
import type { RequestedRange } from '../books/window.js';

/** Everything a backtest found out, on typed arrays: T dates of the run. */
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
  /** The index that a derived index was made from. */
  readonly parent: IndexRun | null;
  readonly benchmark: BenchmarkRun | null;
  /**
   * Every index that was composed for the run: its own, and those that its universe, derivation and benchmark reach.
   */
  readonly reached: readonly Compositions[];
  /** Compositions that took effect in the run, preceded by the one in force at its start. */
  readonly rebalances: readonly Composition[];
  /** How many of them took effect in the run. */
  readonly rebalancesWithin: number;
  readonly gaps: readonly Gap[];
  /** Trades of the portfolio at carried prices, by the session of each of its rebalances. */
  readonly staleFills: ReadonlyMap<number, StaleFills>;
  readonly findings: readonly Finding[];
  /**
   * Level of the index by return variant, on the dates of the index book; null where the prices of the market have
   * another basis.
   */
  readonly variants: Readonly<Record<ReturnVariant, VariantLevel | null>>;
  /** Level of the index on its weights before capping, on the dates of the index book; null without a cap. */
  readonly uncapped: Float64Array | null;
  /** What it takes to resume it after its last date, beside the ends of its books. */
  readonly remains: RunRemains;
}

/** An index in one return variant, [B] each. */
export interface VariantLevel {
  readonly level: Float64Array;
  readonly divisor: Float64Array;
}

/** What is left when a run ends, of what its results do not have. */
export interface RunRemains {
  /** Ends of the books that were simulated for their levels alone. */
  readonly variants: Readonly<Partial<Record<ReturnVariant, BriefEnd>>>;
  /** Of an overlay, what lies beneath those variants. */
  readonly overlays?: Readonly<Partial<Record<ReturnVariant, StoredOverlay>>>;
  readonly uncapped: BriefEnd | null;
  readonly findings: FindingGroups;
  /** Of an overlay, findings of the decisions beneath it, index after index. */
  readonly decisionsBeneath?: readonly (readonly Finding[])[];
  readonly stale: StaleCount;
  /** What the solves of a strategy's constraint set left; null without one. */
  readonly solves: DecisionMemory | null;
}

/** Findings of a run by what found them, in the order in which they are reported. */
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
  /** The stored risk models of the plan; absent where it has none. */
  readonly models?: StoredModels;
  readonly createDecider: DeciderFactory;
  /** What was known of the market at decisions, for a request that asks for it. */
  readonly known?: KnownMarkets | undefined;
  /** Memory for the weights with room around them for the columns of the run: see `runToColumns`. */
  readonly memory?: Memory;
  /** Whether that room is for columns without many prices: see `runToFiles`. */
  readonly pricesApart?: boolean;
  /** Multiplies matrices for the constraint set of a strategy; plain loops unless given. */
  readonly engine?: Engine;
  /** Progress, 0 to 1; stops the run by throwing. */
  readonly report: (fraction: number, message: string) => void;
}

/** The part of a run that its metrics need: the index, the portfolio, and how both went. */
export interface ComputedRun extends Pick<
  Run,
  'document' | 'days' | 'level' | 'indexLevel' | 'portfolio' | 'index' | 'rebalances' | 'metrics' | 'totalCosts'
> {
  readonly composer: Composer;
  readonly range: RequestedRange;
  /** Of the solves of a strategy's constraint set. */
  readonly warnings: readonly Finding[];
  /** What they left. */
  readonly solves: DecisionMemory | null;
  /** First and last session. */
  readonly from: number;
  readonly to: number;
}

export interface ComputeInput extends RunInput {
  /** Of another run with the same documents, end and market: its compositions are not decided again. */
  readonly composer?: Composer;
  /** A run of the same composer whose index is taken where it spans the same sessions. */
  readonly before?: Pick<ComputedRun, 'composer' | 'index' | 'from' | 'to'>;
  /** Weights are read by nobody but the portfolio that holds the index: not to be asked for a strategy. */
  readonly levelsOnly?: boolean;
  /** Memory for the weights then, zeros. */
  readonly roomForWeights?: (cells: number) => Float64Array;
}
