import type { DatedRounding } from '../documents/dated-rounding.js';
import type { DatedTreatment } from '../documents/treatment.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import type { SessionMarket } from '../market/session-market.js';
import type { ReturnVariant } from '../market/market-data.js';
import type { ExposureStep, PartName } from '../overlays/overlay-type.js';
import type { Transfers } from './transfers.js';
import type { OutsideMergers } from './merger-key.js';
import type { HeldCounts, SecurityCounts, ShareChange, ShareChangeTerms } from './security-counts.js';

/** Weights that a book takes at the close of a session. */
export interface Targets {
  readonly session: number;
  /** Columns, ascending. */
  readonly columns: Int32Array;
  /** One per column, negative for a short position; what their sum leaves of 1 is cash. */
  readonly weights: Float64Array;
  /** Fraction in cash, where it is known to the last bit. */
  readonly cash?: number;
  /** Money that the fixed numbers of shares are worth which the weights stand for; absent where weights decide. */
  readonly basket?: number;
  /** Market value over that before, of securities that enter with shares of their own: the divisor changes by it. */
  readonly entered?: number;
  /** Share counts that the weights stand for, where the book follows them between reviews. */
  readonly counts?: SecurityCounts;
}

export interface BookInput {
  /** Subject of a sentence about the book, capitalised. */
  readonly title: string;
  readonly sm: SessionMarket;
  readonly treatment: DatedTreatment;
  readonly growth: GrowthTerms;
  /** First and last session simulated. */
  readonly from: number;
  readonly to: number;
  /** Ascending by session, the first at `from`; of several on one session the last counts. */
  readonly targets: readonly Targets[];
  readonly initialValue: number;
  /** Market value over level on the first session; 1 by default. */
  readonly baseDivisor?: number;
  /** Decimals of divisor and index shares; absent where neither is rounded. */
  readonly rounding?: DatedRounding;
  /** Cost of a unit of traded notional; 0 for an index. */
  readonly costRate: number;
  /**
   * An index takes every name at its carried price; a portfolio trades what is priceable. With `stale_targets: "defer"`
   * both wait for a bar.
   */
  readonly fills: 'all' | 'priceable';
  /** After the first session a name is traded only when its weight is further than this from its target. */
  readonly tolerance?: number;
  /** Only the level is wanted: weights are there of the last session alone, and nothing of what was traded. */
  readonly isBrief?: boolean;
  /**
   * Weights are wanted of the sessions alone on which something happens, of `followedFrom` and of the last; the rows of
   * the others are zero.
   */
  readonly isSparse?: boolean;
  /**
   * Terms of the value index to read when they differ from `growth` in cash alone: one panel then serves every variant.
   */
  readonly indexTerms?: GrowthTerms;
  /**
   * A session at whose close a holding period begins though nothing happens: that of a portfolio which follows the book
   * from there.
   */
  readonly followedFrom?: number;
  /** Mergers by which securities leave instead of turning into others; none unless given. */
  readonly outside?: OutsideMergers | undefined;
  /** Share counts that it follows between reviews; none unless given. */
  readonly shareChanges?: ShareChangeTerms | undefined;
  /** What a book that this one holds the weights of was waiting for at the first session. */
  readonly pending?: PendingNames;
  /** Goes on from where another book of the same terms ended: `from` is the session it ended on. */
  readonly resume?: BookResume;
  /** Memory for the weights: zeros where they are sparse, else anything. An array of their own unless given. */
  readonly roomForWeights?: (cells: number) => Float64Array;
  /** Stops between sessions when the run was cancelled. */
  readonly tick?: (fraction: number) => void;
}

/** A book that is resumed. */
export interface BookResume {
  readonly end: BookEnd;
  /** First session of the whole book. */
  readonly first: number;
  /** Its columns so far, and its orders, placed from the session it ended on and by columns. */
  readonly columns: Int32Array;
  readonly orders: readonly UnfilledOrder[];
}

/** All that the sessions after a book's last one depend on. Names are columns of the market. */
export interface BookEnd extends PendingNames {
  /** Names held, ascending, their units of the value index and their weights. */
  readonly held: Int32Array;
  readonly units: Float64Array;
  readonly weights: Float64Array;
  readonly value: number;
  readonly cash: number;
  readonly divisor: number;
  /** Value and cash at the start of the holding period, under the names that stored checkpoints have. */
  readonly stretchValue: number;
  readonly stretchCash: number;
  readonly path: number;
  /** Factor on `path` by dividends and adjusted closes since then. */
  readonly carry: number;
  /** Index shares of a constituent times its price over its weight, for one share each: see `Targets.basket`. */
  readonly basketUnit: number | null;
  /** Divisor before over that after it was rounded at the last close; absent where it is not. */
  readonly roundedBy?: number;
  /** Levels of an index in each return variant; null where the constituents reinvest. */
  readonly levels: Readonly<Record<ReturnVariant, number>> | null;
  /** Positions among the orders of those that wait for a bar. */
  readonly waiting: readonly number[];
}

/** Names that a book waits for a price of. They are columns of the market. */
export interface PendingNames {
  /** Spun-off names, in units per unit of the value at the start of the holding period. */
  readonly children: readonly { readonly column: number; readonly since: number; readonly units: number }[];
  /** Held names whose ticker has changed, and into which. */
  readonly renamed: readonly (readonly [column: number, into: number])[];
  /** Share counts of what is held, where it follows them. */
  readonly counts?: HeldCounts;
}

/** Where a portfolio that follows a book stands: its value, and that at the start of its holding period. */
export interface FollowEnd {
  readonly stretchValue: number;
  readonly value: number;
  /** Of a strategy that holds an overlay: the fraction in it. */
  readonly exposure?: number;
}

/** A portfolio without holdings of its own as it is stored. */
export interface StoredFollow extends FollowEnd {
  /** Of a strategy that holds an overlay: orders by column, placed from the first session; absent without any. */
  readonly orders?: readonly UnfilledOrder[];
}

/** Where a book stands that was simulated for its levels alone. Orders are by column, placed from its first session. */
export interface BriefEnd {
  readonly end: BookEnd;
  readonly orders: readonly UnfilledOrder[];
}

/** A simulated book: T sessions from `from`, H names. Everything is of the close, after trades. */
export interface Book {
  readonly sm: SessionMarket;
  readonly from: number;
  readonly length: number;
  /** Columns of the names it held or could have come to hold, ascending, [H]. */
  readonly columns: Int32Array;
  /** [T] */
  readonly value: Float64Array;
  /** Growth of the value over the session, before costs; 1 on the first, [T]. */
  readonly gross: Float64Array;
  /**
   * Times the weights after a close, or before the trades of an event, what those of the close before grew to by prices,
   * [T]; absent where that is `gross`.
   */
  readonly drift?: Float64Array;
  /** Contributions to the return of sessions that weights and `drift` do not show; absent where there are none. */
  readonly transfers?: Transfers;
  /** Of an index that reinvests dividends in all of itself. */
  readonly reinvested?: Reinvested;
  /** Changes of share counts that it took up between reviews; absent where it follows none. */
  readonly shareChanges?: readonly ShareChange[];
  /** Value before what happened at the close over that at the beginning of the holding period, [T]. */
  readonly path: Float64Array;
  /** 1 where a holding period begins at the close: up to its end nothing but growth changes the value, [T]. */
  readonly begins: Uint8Array;
  /** Market value divided by value, [T]. */
  readonly divisor: Float64Array;
  /** Divisor before over that after it was rounded at a close, [T]; absent where it is not rounded. */
  readonly exactDivisor?: Float64Array;
  /** Whether its index shares are rounded on some date. */
  readonly hasWholeShares?: true;
  /** Costs paid on the session, [T]. */
  readonly costs: Float64Array;
  /**
   * Held weights, 0 where not held, negative for a short position, [T x H]; of the last session alone in a brief book,
   * of few in a sparse one.
   */
  readonly weights: Float64Array;
  /** Fraction held in cash, [T]. */
  readonly cash: Float64Array;
  /** Names held, [T]. */
  readonly counts: Int32Array;
  /** 1 for names held at some close, [H]. */
  readonly everHeld: Uint8Array;
  /** Sessions on which something but drift happened, ascending. */
  readonly events: readonly BookEvent[];
  readonly unfilled: readonly UnfilledOrder[];
  /** Names without a bar on a session on which their exchange was open, held or asked for; by session, then column. */
  readonly gaps: readonly Gap[];
  /** Names that left because their bars stopped without an action. */
  readonly silent: readonly Gap[];
  /** What it was waiting for at the close of `followedFrom`; null where no portfolio follows it. */
  readonly pending: PendingNames | null;
  /** Where it stands after its last close. */
  readonly end: BookEnd | FollowEnd;
  /** Of an overlay, what its weights do not have. */
  readonly overlay?: BookOverlay;
  /** Of a book on the sessions of another calendar, the same on its own. */
  readonly onOwnSessions?: Book;
}

/** Levels and dividends of an index, [T] each. */
export interface Reinvested {
  readonly levels: Readonly<Record<ReturnVariant, Float64Array>>;
  /** Ordinary dividends in points of the price return, before tax and after it. */
  readonly points: Float64Array;
  readonly netPoints: Float64Array;
}

/** Growth by prices of what a book holds, [T]. */
export function driftOf({ drift, overlay, gross }: Pick<Book, 'drift' | 'overlay' | 'gross'>): Float64Array {
  return overlay?.drift ?? drift ?? gross;
}

/** Currency that the securities of a book are valued in. */
export function securitiesIn({ overlay }: Pick<Book, 'overlay'>, { currency }: { readonly currency: string }): string {
  return overlay?.securitiesIn ?? currency;
}

/** What an overlay earns beside its names. */
export interface BookOverlay {
  /** Books of what lies beneath. */
  readonly beneath: readonly Book[];
  /** Currency that its securities are valued in, where that is not its own: of a quanto that of the index beneath. */
  readonly securitiesIn?: string;
  /** Whether the exchange rate on cash beneath is one of its parts. */
  readonly hasCurrencyPart: boolean;
  /**
   * Times the weights after a close, or before the trades of an event, what those of the close before grew to, [T]: for
   * other books that is `gross`.
   */
  readonly drift: Float64Array;
  readonly parts: readonly BookPart[];
  /** Why its exposure is what it is after a close, by position from its first session; absent where it follows no target. */
  readonly explain?: (t: number) => ExposureStep;
  /** Weights beneath by currency, where its type asks for them, from its first session on, [T] each. */
  readonly shares: Readonly<Record<string, Float64Array>>;
}

/** Contributions to the return of each session that no name has, [T]. */
export interface BookPart {
  /** The overlay that it is of. */
  readonly indexId: string;
  readonly part: PartName;
  readonly contributions: Float64Array;
}

export interface BookEvent {
  /** Position from the first session of the book. */
  readonly at: number;
  /** Whether targets were taken. */
  readonly rebalanced: boolean;
  /** Value and weights after drift, before anything was traded. */
  readonly valueBefore: number;
  readonly before: Float64Array;
  /** Weights that turned into another name, before anything was paid for. */
  readonly conversions: readonly Conversion[];
  /** Weights that left at a price, before anything was paid for. */
  readonly exits: readonly Move[];
  /** Earlier orders that could be filled now, by slot. */
  readonly fills: readonly Fill[];
  /** There where nothing was traded: the weights of an overlay drifted by factors of their own. */
  readonly isUntraded?: true;
}

/** An order filled on a later session than it was given. */
export interface Fill {
  readonly slot: number;
  /** Money bought, negative for a sale. */
  readonly notional: number;
}

/** A name that turned into another, with its weight of the value before trades. */
export interface Conversion {
  readonly slot: number;
  readonly into: number;
  readonly weight: number;
}

export interface Move {
  readonly slot: number;
  /** Change of the weight, of the value before trades. */
  readonly change: number;
}

export interface UnfilledOrder {
  readonly at: number;
  readonly slot: number;
  readonly side: 'buy' | 'sell';
  readonly target: number;
  readonly held: number;
  readonly notional: number;
  readonly reason: 'no_price' | 'stale_price' | 'delisted';
  /** Position of the session it was filled on, null if never. */
  readonly filledAt: number | null;
  /** Position of the rebalance that took its place, null while none has. */
  readonly replacedAt: number | null;
}

/** An order placed from another session: so many positions later. */
export function movedOrder(order: UnfilledOrder, by: number): UnfilledOrder {
  const { at, filledAt, replacedAt } = order;
  return {
    ...order,
    at: at + by,
    filledAt: filledAt === null ? null : filledAt + by,
    replacedAt: replacedAt === null ? null : replacedAt + by,
  };
}

/** A name on a session of the market's axis. */
export interface Gap {
  readonly session: number;
  readonly column: number;
}
