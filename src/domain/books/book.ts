import type { DatedRounding } from '../documents/dated-rounding.js';
import type { DatedTreatment } from '../documents/treatment.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import type { SessionMarket } from '../market/session-market.js';
import type { ReturnVariant } from '../market/market-data.js';
import type { ExposureStep, PartName } from '../overlays/overlay-type.js';
import type { Transfers } from './transfers.js';
import type { OutsideMergers } from './merger-key.js';
import type { HeldCounts, SecurityCounts, ShareChanges, ShareChangeTerms } from './security-counts.js';

/** Weights that a book adopts at the close of a session. */
export interface Targets {
  readonly session: number;
  /** Columns, ascending. */
  readonly columns: Int32Array;
  /** One per column, negative for a short position; the difference of their sum from 1 is cash. */
  readonly weights: Float64Array;
  /** Fraction in cash, if its exact value is known. */
  readonly cash?: number;
  /** Value in money of the fixed numbers of shares behind the weights; absent if weights are decided. */
  readonly basket?: number;
  /**
   * Market value after over market value before the entry of securities with their own shares. The divisor changes by
   * this factor.
   */
  readonly entered?: number;
  /** Share counts behind the weights, if the book follows them between reviews. */
  readonly counts?: SecurityCounts;
}

export interface BookInput {
  /** Subject of a sentence about the book, capitalised. */
  readonly title: string;
  readonly sm: SessionMarket;
  readonly treatment: DatedTreatment;
  readonly growth: GrowthTerms;
  /** First and last simulated session. */
  readonly from: number;
  readonly to: number;
  /** Ascending by session, the first at `from`; the last one of a session applies. */
  readonly targets: readonly Targets[];
  readonly initialValue: number;
  /** Market value over level on the first session; default 1. */
  readonly baseDivisor?: number;
  /** Decimals of divisor and index shares; absent if neither is rounded. */
  readonly rounding?: DatedRounding;
  /** Cost per unit of traded notional; 0 for an index. */
  readonly costRate: number;
  /**
   * An index trades every security at its carried price; a portfolio trades the securities that have a price. With
   * `stale_targets: "defer"` both wait for a price bar.
   */
  readonly fills: 'all' | 'priceable';
  /** After the first session a security is traded only if its weight differs from its target by more than this. */
  readonly tolerance?: number;
  /** Computes only levels, and weights of the last session; records no trades. */
  readonly isBrief?: boolean;
  /** Computes weights only on sessions with events, on `followedFrom` and on the last session; other rows are zero. */
  readonly isSparse?: boolean;
  /** Terms of the value index, if they differ from `growth` only in cash. One panel then serves every variant. */
  readonly indexTerms?: GrowthTerms;
  /** Session whose close always begins a holding period, because a portfolio follows the book from there. */
  readonly followedFrom?: number;
  /** Mergers by which securities leave instead of converting into others. Default: none. */
  readonly outside?: OutsideMergers | undefined;
  /** Share counts that the book follows between reviews. Default: none. */
  readonly shareChanges?: ShareChangeTerms | undefined;
  /** Securities whose prices another book waits for at the first session. This book holds the weights of that book. */
  readonly pending?: PendingSecurities;
  /** State of another book on the same terms. This book resumes at `from`, the last session of that book. */
  readonly resume?: BookResume;
  /** Memory for the weights: zeros for a sparse book, otherwise any contents. Default: a new array. */
  readonly roomForWeights?: (cells: number) => Float64Array;
  /** Throws between sessions if the run was cancelled. */
  readonly tick?: (fraction: number) => void;
}

/** State from which a book resumes. */
export interface BookResume {
  readonly end: BookEnd;
  /** First session of the whole book. */
  readonly first: number;
  /** Columns and orders of the book up to its end. Orders are by column, with sessions relative to the end. */
  readonly columns: Int32Array;
  readonly orders: readonly UnfilledOrder[];
}

/**
 * State from which the sessions after the last session of a book are computed. Securities are columns of the market.
 */
export interface BookEnd extends PendingSecurities {
  /** Held securities, ascending, with their units of the value index and their weights. */
  readonly held: Int32Array;
  readonly units: Float64Array;
  readonly weights: Float64Array;
  readonly value: number;
  readonly cash: number;
  readonly divisor: number;
  /** Value and cash at the start of the holding period, under the names used in stored checkpoints. */
  readonly stretchValue: number;
  readonly stretchCash: number;
  readonly path: number;
  /** Factor on `path` from dividends and adjusted closes since then. */
  readonly carry: number;
  /** Index shares of a constituent times its price over its weight, for one share each: see `Targets.basket`. */
  readonly basketUnit: number | null;
  /** Divisor before over divisor after its rounding at the last close; absent if it is not rounded. */
  readonly roundedBy?: number;
  /** Levels of an index in each return variant; null if dividends are reinvested in the constituents. */
  readonly levels: Readonly<Record<ReturnVariant, number>> | null;
  /** Positions of the orders that wait for a price bar. */
  readonly waiting: readonly number[];
}

/** Securities whose prices a book waits for, as columns of the market. */
export interface PendingSecurities {
  /** Spun-off securities, in units per unit of the value at the start of the holding period. */
  readonly children: readonly { readonly column: number; readonly since: number; readonly units: number }[];
  /** Held securities whose ticker changed, with the new ticker. */
  readonly renamed: readonly (readonly [column: number, into: number])[];
  /** Share counts of the holdings, if the book follows them. */
  readonly counts?: HeldCounts;
}

/** State of a portfolio that follows a book: its value now and at the start of its holding period. */
export interface FollowEnd {
  readonly stretchValue: number;
  readonly value: number;
  /** Fraction in the overlay; only for a strategy that holds an overlay. */
  readonly exposure?: number;
}

/** Stored form of a portfolio without separate holdings. */
export interface StoredFollow extends FollowEnd {
  /** Orders by column, relative to the first session; only for a strategy that holds an overlay and has orders. */
  readonly orders?: readonly UnfilledOrder[];
}

/** State of a book that was simulated only for its levels. Orders are by column, relative to its first session. */
export interface BriefEnd {
  readonly end: BookEnd;
  readonly orders: readonly UnfilledOrder[];
}

/** Simulated book: T sessions from `from`, H securities. All values are at the close, after trades. */
export interface Book {
  readonly sm: SessionMarket;
  readonly from: number;
  readonly length: number;
  /** Columns of the securities that the book held or could have held, ascending, [H]. */
  readonly columns: Int32Array;
  /** [T] */
  readonly value: Float64Array;
  /** Growth of the value over the session, before costs; 1 on the first, [T]. */
  readonly gross: Float64Array;
  /**
   * Factor by which the weights after a close grew by prices to those of the next close or those before the trades of
   * an event, [T]; absent if it equals `gross`.
   */
  readonly drift?: Float64Array;
  /** Contributions to the return of sessions that weights and `drift` do not show; absent if there are none. */
  readonly transfers?: Transfers;
  /** Present for an index that reinvests dividends in all its constituents. */
  readonly reinvested?: Reinvested;
  /** Changes of share counts adopted between reviews; absent if the book follows none. */
  readonly shareChanges?: ShareChanges;
  /** Value before the events of the close over the value at the start of the holding period, [T]. */
  readonly path: Float64Array;
  /** 1 if a holding period begins at the close: until it ends, only growth changes the value, [T]. */
  readonly begins: Uint8Array;
  /** Market value divided by value, [T]. */
  readonly divisor: Float64Array;
  /** Divisor before over divisor after its rounding at a close, [T]; absent if it is not rounded. */
  readonly exactDivisor?: Float64Array;
  /** True if index shares are rounded on any date. */
  readonly hasWholeShares?: true;
  /** Costs paid on the session, [T]. */
  readonly costs: Float64Array;
  /**
   * Held weights, 0 if not held, negative for a short position, [T x H]. A brief book has only the last session, a
   * sparse one few sessions.
   */
  readonly weights: Float64Array;
  /** Fraction held in cash, [T]. */
  readonly cash: Float64Array;
  /** Number of holdings, [T]. */
  readonly counts: Int32Array;
  /** 1 for securities held at some close, [H]. */
  readonly everHeld: Uint8Array;
  /** Sessions with events other than drift, ascending. */
  readonly events: readonly BookEvent[];
  readonly unfilled: readonly UnfilledOrder[];
  /**
   * Missing price bars of held or targeted securities on sessions on which their exchange was open; by session, then
   * column.
   */
  readonly gaps: readonly Gap[];
  /** Securities that left because their price bars stopped without a corporate action. */
  readonly silent: readonly Gap[];
  /** Pending securities at the close of `followedFrom`; null if no portfolio follows the book. */
  readonly pending: PendingSecurities | null;
  /** State after the last close. */
  readonly end: BookEnd | FollowEnd;
  /** Parts of an overlay that its weights do not show. */
  readonly overlay?: BookOverlay;
  /** Book on its own sessions, if this book is mapped to another calendar. */
  readonly onOwnSessions?: Book;
}

/** Levels and dividends of an index, [T] each. */
export interface Reinvested {
  readonly levels: Readonly<Record<ReturnVariant, Float64Array>>;
  /** Ordinary dividends in points of the price return, before and after tax. */
  readonly points: Float64Array;
  readonly netPoints: Float64Array;
}

/** Returns the growth by prices of the holdings of a book, [T]. */
export function driftOf({ drift, overlay, gross }: Pick<Book, 'drift' | 'overlay' | 'gross'>): Float64Array {
  return overlay?.drift ?? drift ?? gross;
}

/** Returns the currency in which the securities of a book are valued. */
export function readSecurityCurrency(
  { overlay }: Pick<Book, 'overlay'>,
  { currency }: { readonly currency: string },
): string {
  return overlay?.securitiesIn ?? currency;
}

/** Earnings of an overlay that do not come from its securities. */
export interface BookOverlay {
  /** Books of the underlying indices. */
  readonly beneath: readonly Book[];
  /**
   * Currency in which its securities are valued, if it differs: a quanto values them in the currency of the underlying
   * index.
   */
  readonly securitiesIn?: string;
  /** True if the exchange rate on underlying cash is one of its parts. */
  readonly hasCurrencyPart: boolean;
  /**
   * Factor by which the weights after a close grew to those of the next close or those before the trades of an event,
   * [T]; other books use `gross`.
   */
  readonly drift: Float64Array;
  readonly parts: readonly BookPart[];
  /** Explains the exposure after a close, by position from the first session; absent if it follows no target. */
  readonly explain?: (t: number) => ExposureStep;
  /** Weights of the underlying by currency, if the overlay type needs them, from its first session on, [T] each. */
  readonly shares: Readonly<Record<string, Float64Array>>;
}

/** Contribution to the return of each session that comes from no security, [T]. */
export interface BookPart {
  /** Overlay to which the part belongs. */
  readonly indexId: string;
  readonly part: PartName;
  readonly contributions: Float64Array;
}

export interface BookEvent {
  /** Position from the first session of the book. */
  readonly at: number;
  /** True if targets took effect. */
  readonly rebalanced: boolean;
  /** Value and weights after drift, before any trade. */
  readonly valueBefore: number;
  readonly before: Float64Array;
  /** Weights that converted into another security, before any payment. */
  readonly conversions: readonly Conversion[];
  /** Weights of securities that left at a price, before any payment. */
  readonly exits: readonly WeightMove[];
  /** Earlier orders that were filled now, by slot. */
  readonly fills: readonly Fill[];
  /** Present if nothing was traded: the weights of an overlay drifted by separate factors. */
  readonly isUntraded?: true;
}

/** Order filled on a later session than its rebalance. */
export interface Fill {
  readonly slot: number;
  /** Money bought, negative for a sale. */
  readonly notional: number;
}

/** Conversion of one security into another, with its weight before the trades. */
export interface Conversion {
  readonly slot: number;
  readonly into: number;
  readonly weight: number;
}

export interface WeightMove {
  readonly slot: number;
  /** Change of the weight, relative to the value before trades. */
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
  /** Position of the session on which it was filled; null if never. */
  readonly filledAt: number | null;
  /** Position of the rebalance that replaced it; null while none has. */
  readonly replacedAt: number | null;
}

/** Moves an order by a number of positions, to make it relative to another session. */
export function moveOrder(order: UnfilledOrder, by: number): UnfilledOrder {
  const { at, filledAt, replacedAt } = order;
  return {
    ...order,
    at: at + by,
    filledAt: filledAt === null ? null : filledAt + by,
    replacedAt: replacedAt === null ? null : replacedAt + by,
  };
}

/** Security and session of a missing price bar. */
export interface Gap {
  readonly session: number;
  readonly column: number;
}
