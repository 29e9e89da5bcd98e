import type { Engine } from '#kernels/engines/engine.js';
import type { Calendars } from '../../calendars/calendar.js';
import type { Day } from '../../time/days.js';
import type { Finding } from '../../refusals/findings.js';
import type { MarketData, ReturnVariant } from '../../market/market-data.js';
import type { StoredModels } from '../../risk/stored-model.js';
import type { Constrained } from '../../strategies/constrained-rebalances.js';
import type { BenchmarkRun, SeriesEnd } from '../../books/benchmark.js';
import type { Book } from '../../books/book.js';
import type { DatedSeries } from '../../analytics/relative.js';
import type { IndexContext, KnownIndex, RunCheckpoint } from './checkpoint.js';
import type { DecisionMemory } from '../../books/decider.js';
import type { Composition, DeciderFactory } from '../../books/compositions.js';
import type { BacktestPlan } from '../../documents/backtest-plan.js';
import type { RequestedRange } from '../../books/window.js';

export interface ResumeRunInput {
  readonly plan: BacktestPlan;
  readonly checkpoint: RunCheckpoint;
  readonly calendars: Calendars;
  /** Market without cash paid up to the day of the checkpoint. */
  readonly market: MarketData;
  /** Returns the market without cash paid up to a day, for decisions. */
  readonly marketSince: (day: Day) => MarketData;
  /** Returns the whole market, for decisions that look back further than they declare. */
  readonly wholeMarket: () => MarketData;
  /** Stored risk models of the plan; absent if there are none. */
  readonly models?: StoredModels;
  readonly createDecider: DeciderFactory;
  /** Multiplies matrices for the constraint set of a strategy. Default: plain loops. */
  readonly engine?: Engine;
  /** Level of the index on the first date of the stored run. */
  readonly levelAtStart: number;
  readonly report: (fraction: number, message: string) => void;
}

/** New sessions of a run: every book starts with the last session of the stored run. */
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
  /** Rebalances of the run. */
  readonly rebalances: readonly Composition[];
  /** Warnings of the solves for the constraint set of a strategy, and the state for later ones. */
  readonly solves: Pick<Constrained, 'findings'> & { readonly memory: DecisionMemory | null };
  /** Every index that the run reaches, with its latest decisions. */
  readonly reached: readonly KnownIndex[];
}

/** Index over its new sessions. */
export interface IndexContinuation extends IndexContext {
  /** Session on which the stored book ended, and the last session. */
  readonly from: number;
  readonly to: number;
  readonly book: Book;
  readonly composed: readonly Composition[];
  readonly findings: readonly Finding[];
  /** Underlying indices of an overlay. */
  readonly beneath?: readonly IndexContinuation[];
}
