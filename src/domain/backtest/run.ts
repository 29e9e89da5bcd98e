import type { Engine } from '#kernels/engines/engine.js';
import type { BacktestMetrics } from '../analytics/returns.js';
import type { Finding } from '../base/findings.js';
import type { BenchmarkRun } from '../books/benchmark.js';
import {
  type Book,
  type BookOverlay,
  extendStoredBook,
  type Gap,
  type LevelsOnlyEnd,
  moveOrder,
  type StoredBook,
  type StoredFollower,
  toStoredBook,
  type UnfilledOrder,
} from '../books/book.js';
import type { DatedMarkets } from '../books/composer.js';
import type { Composer, Composition, Compositions, DeciderFactory, DecisionMemory } from '../books/compositions.js';
import type { IndexRun } from '../books/index-run.js';
import type { EarlierOrders } from '../books/overlay-book.js';
import type { StaleCount, StaleFills, Trades } from '../books/trades.js';
import type { RequestedRange } from '../books/rebalance-dates.js';
import type { Calendars } from '../calendars/calendar.js';
import type { BacktestPlan } from '../definition/backtest-plan.js';
import type { IndexDocument } from '../definition/index-document.js';
import type { MarketData, ReturnVariant } from '../market/market-data.js';
import type { StoredModels } from '../risk/stored-models.js';
import type { Memory } from '#base/memory.js';

/**
 * Stored state of an overlay. The books of the underlying indices are resumed; the overlay path is recomputed over all
 * sessions, which takes little time.
 */
export interface StoredOverlay {
  /** First session. */
  readonly first: number;
  /** Level at the last close. */
  readonly level: number;
  /** True if the overlay has a return component for the exchange rate on underlying cash. */
  readonly hasCurrencyPart: boolean;
  readonly beneath: readonly StoredLayer[];
  /** Currency weights as in `BookOverlay`; absent if the overlay type needs none. */
  readonly shares?: BookOverlay['shares'];
  /**
   * Orders of the underlying in weights and amounts of the overlay, by column. Sessions are counted from the overlay's
   * first session. Absent if there are no orders.
   */
  readonly orders?: readonly UnfilledOrder[];
}

/** Stored state of one underlying index of an overlay. */
export interface StoredLayer {
  /** First session. */
  readonly first: number;
  /** Growth over every session of the underlying index, [T]. */
  readonly gross: Float64Array;
  /** Growth by prices over every session, [T]; absent if it equals `gross`. */
  readonly drift?: Float64Array;
  /** Fraction of the value that securities release by leaving at each close, [T]; absent if none leaves. */
  readonly exitShares?: Float64Array;
  readonly of: StoredBook | StoredOverlay;
}

export function isStoredOverlay(layer: StoredBook | StoredOverlay): layer is StoredOverlay {
  return 'beneath' in layer;
}

export function toStoredIndex(book: Book): StoredBook | StoredOverlay {
  if (book.onOwnSessions !== undefined) return toStoredIndex(book.onOwnSessions);
  const { overlay, from, value } = book;
  if (overlay === undefined) return toStoredBook(book);
  return {
    first: from,
    level: value.at(-1)!,
    hasCurrencyPart: overlay.hasCurrencyPart,
    beneath: overlay.beneath.map((ownBook) => ({
      first: ownBook.from,
      gross: ownBook.gross,
      ...(ownBook.drift === undefined ? {} : { drift: ownBook.drift }),
      ...(ownBook.exitShares === undefined ? {} : { exitShares: ownBook.exitShares }),
      of: toStoredIndex(ownBook),
    })),
    ...createStoredShares(overlay),
    ...createStoredOrders(book, 0),
  };
}

export function extendStoredIndex(before: StoredBook | StoredOverlay, book: Book): StoredBook | StoredOverlay {
  if (book.onOwnSessions !== undefined) return extendStoredIndex(before, book.onOwnSessions);
  if (!isStoredOverlay(before)) return extendStoredBook(before, book);
  const { beneath } = book.overlay!; // only stored overlays reach this line
  return {
    ...before,
    level: book.value.at(-1)!,
    ...createStoredShares(book.overlay!),
    ...createStoredOrders(book, book.from - before.first),
    beneath: before.beneath.map((layer, k) => ({
      first: layer.first,
      ...joinGrowth(layer, beneath[k]!),
      of: extendStoredIndex(layer.of, beneath[k]!),
    })),
  };
}

function createStoredShares({ shares }: BookOverlay): Pick<StoredOverlay, 'shares'> {
  return Object.keys(shares).length === 0 ? {} : { shares };
}

/**
 * Returns the stored state of a portfolio that has no holdings apart from its index.
 * @param by number of sessions from the portfolio's first session to the first session of the book
 */
export function toStoredPortfolio(book: Book, by: number): StoredFollower {
  const { end } = book;
  if ('held' in end) throw new Error('a book with separate holdings is stored as a book');
  return { ...end, ...(end.exposure === undefined ? {} : createStoredOrders(book, by)) };
}

/** Returns the orders of an overlay by column, with their sessions shifted by `by`. */
function createStoredOrders({ unfilled, columns }: Book, by: number): Pick<StoredOverlay, 'orders'> {
  if (unfilled.length === 0) return {};
  return { orders: unfilled.map((order) => ({ ...moveOrder(order, by), slot: columns[order.slot]! })) };
}

/** Returns stored orders with sessions relative to the overlay's last simulated session. */
export function selectOrdersBefore(
  { orders = [], first }: Pick<StoredOverlay, 'orders' | 'first'>,
  from: number,
): EarlierOrders {
  return { orders: orders.map((order) => moveOrder(order, first - from)), heldFor: from - first };
}

/**
 * Joins the currency weights of the stored sessions and of the new sessions. The first new session is also the last
 * stored one.
 */
export function appendShares(
  { shares = {} }: Pick<StoredOverlay, 'shares'>,
  added: BookOverlay['shares'],
): BookOverlay['shares'] {
  return Object.fromEntries(
    Object.entries(shares).map(([code, share]) => [code, Float64Array.from([...share, ...added[code]!.subarray(1)])]),
  );
}

type LayerGrowth = Pick<StoredLayer, 'gross' | 'drift' | 'exitShares'>;

/** Joins the growth of an underlying index on the stored sessions with its growth on the new sessions. */
export function joinGrowth(
  { gross, drift, exitShares }: LayerGrowth,
  book: Pick<Book, 'gross' | 'drift' | 'exitShares'>,
): LayerGrowth {
  const hasDrift = drift !== undefined || book.drift !== undefined;
  const hasExits = exitShares !== undefined || book.exitShares !== undefined;
  const fillExits = (shares: Float64Array | undefined, growth: Float64Array): Float64Array =>
    shares ?? new Float64Array(growth.length);
  return {
    gross: joinSessions(gross, book.gross),
    ...(hasDrift ? { drift: joinSessions(drift ?? gross, book.drift ?? book.gross) } : {}),
    ...(hasExits
      ? { exitShares: joinSessions(fillExits(exitShares, gross), fillExits(book.exitShares, book.gross)) }
      : {}),
  };
}

/** Joins values of stored sessions and of new sessions, of which the first is the last stored one. */
function joinSessions(before: Float64Array, after: Float64Array): Float64Array {
  const joined = new Float64Array(before.length + after.length - 1);
  joined.set(before);
  joined.set(after.subarray(1), before.length);
  return joined;
}

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
  /**
   * Book of the price return, whose weights an index publishes with another return variant. Null if it publishes those of
   * its own book.
   */
  readonly published: Book | null;
  /**
   * Returns the levels of the index without the cap, on the dates of the index book. Null if the index has no cap. The
   * first call simulates the book: the file of a run is written and hashed meanwhile.
   * @throws Refusal NUMERIC_FAILURE
   */
  readonly uncapped: (() => Book) | null;
  /** State for an extension of the run, in addition to the end states of its books. */
  readonly remains: Omit<RunEndState, 'uncapped'>;
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
