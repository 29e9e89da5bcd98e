import type { Engine } from '#kernels/engines/engine.js';
import type { Calendars } from '../../calendars/calendar.js';
import type { Day } from '../../time/days.js';
import type { Finding } from '../../refusals/findings.js';
import type { MarketData, ReturnVariant } from '../../market/market-data.js';
import type { StoredModels } from '../../risk/stored-model.js';
import type { ConstrainedRebalances } from '../../strategies/constrained-rebalances.js';
import type { BenchmarkRun, SeriesEnd } from '../../books/benchmark.js';
import type { Book } from '../../books/book.js';
import type { DatedSeries } from '../../analytics/relative.js';
import type { IndexContext, SimulatedIndex, RunCheckpoint } from './checkpoint.js';
import type { DecisionMemory } from '../../books/decider.js';
import type { Composition, DeciderFactory } from '../../books/compositions.js';
import type { BacktestPlan } from '../../documents/backtest-plan.js';
import type { RequestedRange } from '../../books/window.js';

export interface ResumeRunInput {
  readonly plan: BacktestPlan;
  readonly checkpoint: RunCheckpoint;
  readonly calendars: Calendars;
  /** Market without the cash that was paid up to the day of the checkpoint. */
  readonly market: MarketData;
  /** Returns a market for decisions. It excludes cash that was paid up to a day. */
  readonly marketSince: (day: Day) => MarketData;
  /** Returns the whole market, for decisions that read data before their declared look-back. */
  readonly wholeMarket: () => MarketData;
  /** Stored risk models of the plan; absent if there are none. */
  readonly models?: StoredModels;
  readonly createDecider: DeciderFactory;
  /** Engine of matrix products for the constraint set of a strategy. Default: plain loops. */
  readonly engine?: Engine;
  /** Level of the index on the first date of the stored run. */
  readonly levelAtStart: number;
  readonly report: (fraction: number, message: string) => void;
}

/** New sessions of a run. Every book starts with the last session of the stored run. */
export interface Continuation {
  readonly range: RequestedRange;
  readonly index: IndexContinuation;
  readonly portfolio: Book;
  readonly parent: IndexContinuation | null;
  readonly benchmark: IndexContinuation | null;
  readonly series: {
    readonly added: DatedSeries;
    readonly end: SeriesEnd;
    readonly variant: BenchmarkRun['variant'];
  } | null;
  readonly variants: Readonly<Partial<Record<ReturnVariant, Book>>>;
  readonly uncapped: Book | null;
  /** Rebalances of the run on the new sessions. */
  readonly rebalances: readonly Composition[];
  /** Warnings of the optimisations for the constraint set of a strategy, and the state that later optimisations use. */
  readonly solves: Pick<ConstrainedRebalances, 'findings'> & { readonly memory: DecisionMemory | null };
  /** Every index on which the run depends, with its latest decisions. */
  readonly reached: readonly SimulatedIndex[];
}

/** Simulation of an index over the new sessions. */
export interface IndexContinuation extends IndexContext {
  /** Last session of the stored book (`from`) and of the extension (`to`). */
  readonly from: number;
  readonly to: number;
  readonly book: Book;
  readonly composed: readonly Composition[];
  readonly findings: readonly Finding[];
  /** Underlying indices of an overlay. */
  readonly beneath?: readonly IndexContinuation[];
}
