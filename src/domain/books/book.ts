import type { DatedRounding } from '../documents/dated-rounding.js';
import type { DatedTreatment } from '../documents/treatment.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import type { SessionMarket } from '../market/session-market.js';
import type { ExposureStep, PartName } from '../overlays/overlay-type.js';
import type { LevelsAtClose, ReinvestedLevels, ShareRecord } from './share-record.js';
import type { Transfers } from './transfers.js';
import type { OutsideMergers } from './merger-key.js';
import type { HoldingCounts, SecurityCounts, ShareChanges, ShareChangeTerms } from './security-counts.js';

/** Weights to which a book is rebalanced at the close of a session. */
export interface Targets {
  readonly session: number;
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  /** Weight of each column, negative for a short position; 1 less the sum is cash. */
  readonly weights: Float64Array;
  /** Fraction in cash, if the exact value is known. */
  readonly cash?: number;
  /** Money value of the fixed numbers of shares that give the weights; absent if weights are decided. */
  readonly basket?: number;
  /** Numbers of shares that give the weights up to rounding, [n]; absent if weights are decided. */
  readonly fixedShares?: Float64Array;
  /**
   * Ratio of market value after to before the entry of securities with their own index shares. The divisor has the same
   * factor.
   */
  readonly entered?: number;
  /** Share counts that give the weights, if the book follows share counts between reviews. */
  readonly counts?: SecurityCounts;
}

export interface BookInput {
  /** Name of the book as the capitalised subject of a sentence. */
  readonly title: string;
  readonly sm: SessionMarket;
  readonly treatment: DatedTreatment;
  readonly growth: GrowthTerms;
  /** First and last simulated session. */
  readonly from: number;
  readonly to: number;
  /** Targets by session, ascending, the first at `from`; only the last targets of a session apply. */
  readonly targets: readonly Targets[];
  readonly initialValue: number;
  /** Ratio of market value to level on the first session. Default: 1. */
  readonly baseDivisor?: number;
  /** Decimals of divisor and index shares; absent if neither is rounded. */
  readonly rounding?: DatedRounding;
  /** Cost per unit of traded notional; 0 for an index. */
  readonly costRate: number;
  /**
   * Securities that can be traded: all of them, if necessary at an earlier price (index), or only those with a recent
   * price (portfolio). With `stale_targets: "defer"` both wait for a price bar.
   */
  readonly fills: 'all' | 'priceable';
  /** Minimum difference between weight and target for a trade. On the first session every difference is traded. */
  readonly tolerance?: number;
  /** True to compute only levels, and weights of the last session, without recording trades. */
  readonly isBrief?: boolean;
  /**
   * True to compute weights only on sessions with events, on `followedFrom` and on the last session. All other rows are
   * zero.
   */
  readonly isSparse?: boolean;
  /**
   * Terms of the value index. They differ from `growth` only in cash, so one panel serves every return variant.
   * Default: `growth`.
   */
  readonly indexTerms?: GrowthTerms;
  /** First session of a portfolio that follows the book; its close always begins a holding period. */
  readonly followedFrom?: number;
  /** Mergers in which the merged security leaves instead of converting. Default: none. */
  readonly outside?: OutsideMergers | undefined;
  /** Share counts that the book follows between reviews. Default: none. */
  readonly shareChanges?: ShareChangeTerms | undefined;
  /** State of another book at the first session. Given if this book starts with the weights of that book. */
  readonly followed?: FollowedClose;
  /** State of an earlier book on equal terms. This book resumes at `from`, the last session of the earlier book. */
  readonly resume?: BookResume;
  /** Allocates memory for the weights: zeros for a sparse book, otherwise any contents. Default: a new array. */
  readonly roomForWeights?: (cells: number) => Float64Array;
  /** Reports progress between sessions; throws if the run was cancelled. */
  readonly tick?: (fraction: number) => void;
}

/** State from which the simulation of a book resumes. */
export interface BookResume {
  readonly end: BookEnd;
  /** First session of the whole book, including the earlier part. */
  readonly first: number;
  /** Columns and orders of the earlier book. Orders are by column, with sessions relative to the end of that book. */
  readonly columns: Int32Array;
  readonly orders: readonly UnfilledOrder[];
}

/** End state from which a book is continued. Securities are market columns. */
export interface BookEnd extends PendingSecurities {
  /** Held securities, ascending, with units of the value index and weights. */
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
  /** Factor on `path` from reinvested dividends and adjusted closes since the start of the holding period. */
  readonly carry: number;
  /** True if the index holds fixed numbers of shares: see `Targets.basket`. */
  readonly holdsBasket: boolean;
  /** Ratio of the exact to the rounded divisor at the last close; absent if the divisor is not rounded. */
  readonly exactDivisor?: number;
  /**
   * Levels in each return variant, with the level at the start of the holding period; null if units are not shares,
   * because dividends are reinvested in the paying constituents.
   */
  readonly levels: (LevelsAtClose & { readonly atStretchStart: number }) | null;
  /** Indices of the orders that are waiting for a price bar. */
  readonly waiting: readonly number[];
}

/** State of a book at a close, from which a portfolio with equal weights starts. */
export interface FollowedClose extends PendingSecurities {
  /** Levels and divisor, and holdings with index shares; absent if units of the book are not shares. */
  readonly shares?: {
    readonly levels: LevelsAtClose;
    readonly divisor: number;
    readonly columns: Int32Array;
    readonly units: Float64Array;
  };
}

/** Securities for whose prices a book is waiting, as market columns. */
export interface PendingSecurities {
  /**
   * Spun-off securities with shares, or with units per unit of value at the start of the holding period if units are not
   * shares.
   */
  readonly children: readonly { readonly column: number; readonly since: number; readonly units: number }[];
  /** Held securities whose ticker changed, each with the new column. */
  readonly renamed: readonly (readonly [column: number, into: number])[];
  /** Share counts of the holdings, if the book follows share counts. */
  readonly counts?: HoldingCounts;
}

/** End state of a portfolio that follows a book: values at the last close and at the start of the holding period. */
export interface FollowerEnd {
  readonly stretchValue: number;
  readonly value: number;
  /** Fraction invested in the overlay; only for a strategy that holds an overlay. */
  readonly exposure?: number;
}

/** Stored state of a portfolio without separate holdings. */
export interface StoredFollower extends FollowerEnd {
  /** Orders by column, relative to the portfolio's first session; only for a strategy on an overlay that has orders. */
  readonly orders?: readonly UnfilledOrder[];
}

/** End state of a book that was simulated only for its levels. Orders are by column, relative to its first session. */
export interface LevelsOnlyEnd {
  readonly end: BookEnd;
  readonly orders: readonly UnfilledOrder[];
}

/** Simulated book with T sessions from `from` and H securities. All values are at the close, after trades. */
export interface Book {
  readonly sm: SessionMarket;
  readonly from: number;
  readonly length: number;
  /** Market columns of the securities that the book could hold, ascending, [H]. */
  readonly columns: Int32Array;
  /** [T] */
  readonly value: Float64Array;
  /** Growth of the value over the session before costs; 1 on the first session, [T]. */
  readonly gross: Float64Array;
  /**
   * Growth of the holdings from prices: the factor from the weights after a close to the weights at the next close, or
   * to the weights before the trades of an event, [T]. Absent if it equals `gross`.
   */
  readonly drift?: Float64Array;
  /** Contributions to session returns that weights and `drift` do not contain; absent if there are none. */
  readonly transfers?: Transfers;
  /** Levels and dividend points; only for an index that reinvests dividends in all constituents. */
  readonly reinvested?: ReinvestedLevels;
  /** Share-count changes adopted between reviews; absent if the book does not follow share counts. */
  readonly shareChanges?: ShareChanges;
  /** Value before the events of the close, relative to the start of the holding period, [T]. */
  readonly path: Float64Array;
  /** 1 if a holding period begins at the close. Within a holding period only growth changes the value, [T]. */
  readonly begins: Uint8Array;
  /** Market value divided by value, [T]. */
  readonly divisor: Float64Array;
  /** Ratio of the exact to the rounded divisor at a close, [T]; absent if the divisor is not rounded. */
  readonly exactDivisor?: Float64Array;
  /** Index shares; absent if units are not shares, and for a book that is simulated for its levels. */
  readonly shares?: ShareRecord;
  /** Costs paid on the session, [T]. */
  readonly costs: Float64Array;
  /**
   * Weights, 0 if not held, negative for a short position, [T x H]. A book with `isBrief` has only the last session, a
   * book with `isSparse` few sessions.
   */
  readonly weights: Float64Array;
  /** Cash as a fraction of the value, [T]. */
  readonly cash: Float64Array;
  /** Number of holdings, [T]. */
  readonly counts: Int32Array;
  /** 1 for securities held at some close, [H]. */
  readonly everHeld: Uint8Array;
  /** Sessions with events other than drift, ascending. */
  readonly events: readonly BookEvent[];
  readonly unfilled: readonly UnfilledOrder[];
  /** Missing price bars of held or targeted securities on sessions of their exchange, by session, then column. */
  readonly gaps: readonly Gap[];
  /** Securities that left because their prices ended without a corporate action. */
  readonly silent: readonly Gap[];
  /** State at the close of `followedFrom`. Null if no portfolio follows the book. */
  readonly pending: FollowedClose | null;
  /** State after the last close, for an extension. */
  readonly end: BookEnd | FollowerEnd;
  /** Return components of an overlay that do not come from weights. */
  readonly overlay?: BookOverlay;
  /** Original book, if this book is mapped to another calendar. */
  readonly onOwnSessions?: Book;
}

/** Returns the growth by prices of the holdings of a book, [T]. */
export function readDrift({ drift, overlay, gross }: Pick<Book, 'drift' | 'overlay' | 'gross'>): Float64Array {
  return overlay?.drift ?? drift ?? gross;
}

/** Returns the currency in which the securities of a book are valued. */
export function readSecurityCurrency(
  { overlay }: Pick<Book, 'overlay'>,
  { currency }: { readonly currency: string },
): string {
  return overlay?.securitiesIn ?? currency;
}

/** Return components of an overlay that do not come from its securities. */
export interface BookOverlay {
  /** Books of the underlying indices. */
  readonly beneath: readonly Book[];
  /**
   * Currency in which the securities are valued, if it differs from the index currency. A quanto overlay values them in
   * the currency of the underlying index.
   */
  readonly securitiesIn?: string;
  /** True if the exchange rate on underlying cash is one of the return components. */
  readonly hasCurrencyPart: boolean;
  /**
   * Factor from the weights after a close to the weights at the next close, or to the weights before the trades of an
   * event, [T]. Other books use `gross`.
   */
  readonly drift: Float64Array;
  readonly parts: readonly BookPart[];
  /** Explains the exposure after a close, by session index; absent if the overlay has no target exposure. */
  readonly explain?: (t: number) => ExposureStep;
  /**
   * Weights of the underlying by currency from the overlay's first session on, if the overlay type needs them, [T]
   * each.
   */
  readonly shares: Readonly<Record<string, Float64Array>>;
}

/** Return component of an overlay: contribution to the return of each session, [T]. */
export interface BookPart {
  /** Overlay to which the component belongs. */
  readonly indexId: string;
  readonly part: PartName;
  readonly contributions: Float64Array;
}

export interface BookEvent {
  /** Index of the session, counted from the first session of the book. */
  readonly at: number;
  /** True if target weights were applied. */
  readonly rebalanced: boolean;
  /** Value and weights after drift, before all trades. */
  readonly valueBefore: number;
  readonly before: Float64Array;
  /** Weights that converted into another security, before any payment. */
  readonly conversions: readonly Conversion[];
  /** Weights of securities that left at a price, before any payment. */
  readonly exits: readonly WeightMove[];
  /** Waiting orders that were filled at this close, by slot. */
  readonly fills: readonly Fill[];
  /**
   * Present if nothing was traded. The event then only stores weights of an overlay that drifted by separate factors.
   */
  readonly isUntraded?: true;
  /** Present if a spun-off security waits for its price: a payment then changes its later weight. */
  readonly hasPendingSpinOff?: true;
}

/** Fill of an order on a later session than its rebalance. */
export interface Fill {
  readonly slot: number;
  /** Purchase amount, negative for a sale. */
  readonly notional: number;
}

/** Conversion of one security into another, with the weight before trades. */
export interface Conversion {
  readonly slot: number;
  readonly into: number;
  readonly weight: number;
}

export interface WeightMove {
  readonly slot: number;
  /** Change of the weight as a fraction of the value before trades. */
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
  /** Session index of the fill; null if the order was never filled. */
  readonly filledAt: number | null;
  /** Session index of the rebalance that replaced the order; null if none has. */
  readonly replacedAt: number | null;
}

/** Shifts the session indices of an order, to make them relative to another session. */
export function moveOrder(order: UnfilledOrder, by: number): UnfilledOrder {
  const { at, filledAt, replacedAt } = order;
  return {
    ...order,
    at: at + by,
    filledAt: filledAt === null ? null : filledAt + by,
    replacedAt: replacedAt === null ? null : replacedAt + by,
  };
}

/** Missing price bar of a security on a session. */
export interface Gap {
  readonly session: number;
  readonly column: number;
}
