import { appendRow, createGrowingTable, type GrowingTable, takeRows } from '#base/memory.js';
import { findFirstAtLeast, isEqual } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import type { Series } from '../datapoints/series.js';
import type { ExposureStep, PartName } from '../definition/overlay-type.js';
import type { DatedRounding, DatedTreatment } from '../definition/treatment.js';
import type { GrowthTerms } from '../market/action-effects.js';
import type { ReturnVariant } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';

/**
 * Level that a book stated for its market value when its holdings last changed. The quotient of market value and divisor
 * can differ from it in the last digit.
 */
export interface StatedLevel {
  readonly marketValue: number;
  readonly divisor: number;
  readonly level: number;
}

/** Returns the price return level. Without a move of any price it is exactly the stated level. */
export const computePriceLevel = (stated: StatedLevel, marketValue: number, divisor: number): number =>
  marketValue === stated.marketValue && divisor === stated.divisor ? stated.level : marketValue / divisor;

/** Levels of a book with index shares at a close. */
interface LevelsAtClose extends Readonly<Record<ReturnVariant, number>> {
  readonly stated: StatedLevel;
  /** Growth by reinvested dividends since the first session, before and after tax. */
  readonly reinvested: Readonly<Record<'total' | 'net', number>>;
}

/** Levels and dividend points of an index, [T] each. */
export interface ReinvestedLevels {
  readonly levels: Readonly<Record<ReturnVariant, Float64Array>>;
  /** Ordinary dividends in points of the price return, before and after tax. */
  readonly points: Float64Array;
  readonly netPoints: Float64Array;
}

/** Moments of a session at which index shares change. */
export const SHARE_MOMENTS = {
  /** Before the session grows: splits, rights issues and changes of share counts. */
  opening: 0,
  /** At the close: reinvested special dividends, and spun-off securities with their first price. */
  close: 1,
  /** After the exits and trades of the close. */
  after: 2,
} as const;

export type ShareMoment = keyof typeof SHARE_MOMENTS;

const MOMENT_COUNT = Object.keys(SHARE_MOMENTS).length;

/** Returns a number that orders the moments of all sessions. */
export const toShareTime = (at: number, moment: ShareMoment): number => MOMENT_COUNT * at + SHARE_MOMENTS[moment];

/** Index shares of a book: each change with the number of shares after it, in order. */
interface ShareRecord {
  /** Moment of each change, as `toShareTime` of the session index from the first session of the book. */
  readonly time: Int32Array;
  readonly slot: Int32Array;
  /** Number of shares after the change; 0 for a security that left. */
  readonly shares: Float64Array;
}

export interface ShareRecorder {
  readonly changes: GrowingTable<ShareRecord>;
  /** Latest recorded numbers of shares by slot, [H]. */
  readonly latest: Float64Array;
}

/** Returns a recorder of index shares. Returns null for a book that is not an index, or of which only levels are used. */
export function createShareRecorder(
  { fills, isBrief, targets }: Pick<BookInput, 'fills' | 'isBrief' | 'targets'>,
  slotCount: number,
): ShareRecorder | null {
  if (fills !== 'all' || isBrief === true) return null;
  const columns = { time: new Int32Array(0), slot: new Int32Array(0), shares: new Float64Array(0) };
  return {
    changes: createGrowingTable<ShareRecord>(columns, slotCount * targets.length),
    latest: new Float64Array(slotCount),
  };
}

export function recordShares({ latest, changes }: ShareRecorder, time: number, slot: number, shares: number): void {
  if (latest[slot] === shares) return;
  latest[slot] = shares;
  const row = appendRow(changes);
  changes.columns.time[row] = time;
  changes.columns.slot[row] = slot;
  changes.columns.shares[row] = shares;
}

/** Returns a function that reads the index shares at moments, by slot. Moments in ascending order are read once. */
export function createShareReader(
  { time, slot, shares }: ShareRecord,
  slotCount: number,
): (until: number) => Readonly<Float64Array> {
  const held = new Float64Array(slotCount);
  let next = 0;
  let last = -1;
  return (until) => {
    if (until < last) {
      held.fill(0);
      next = 0;
    }
    last = until;
    for (; next < time.length && time[next]! <= until; next++) held[slot[next]!] = shares[next]!;
    return held;
  };
}

/** Weight changes that do not come from prices, as fractions of the value at the previous close, by session. */
export interface Transfers {
  /** Session index from the first session of the book, ascending. */
  readonly at: Int32Array;
  readonly slot: Int32Array;
  /** Ordinary dividends of the security that the whole index reinvests. */
  readonly dividends: Float64Array;
  /**
   * Weight that moved away from the security through an adjustment of previous closes or a share-count change. Negative
   * if the security gained weight.
   */
  readonly moved: Float64Array;
  /**
   * Share-count changes: ascending session indices, and the fraction of its weight that every security kept. `moved` is
   * relative to the kept weights.
   */
  readonly keptAt: Int32Array;
  readonly kept: Float64Array;
}

/** Returns the transfers after a session index, relative to that index. They share memory with the given ones. */
export function createTransfers({ at, slot, dividends, moved, keptAt, kept }: Transfers, first: number): Transfers {
  const begin = findFirstAtLeast(at, first + 1);
  const beginKept = findFirstAtLeast(keptAt, first + 1);
  const shift = (sessions: Int32Array): Int32Array => (first === 0 ? sessions : sessions.map((t) => t - first));
  return {
    keptAt: shift(keptAt.subarray(beginKept)),
    kept: kept.subarray(beginKept),
    at: shift(at.subarray(begin)),
    slot: slot.subarray(begin),
    dividends: dividends.subarray(begin),
    moved: moved.subarray(begin),
  };
}

/** Empty fields of transfers without share-count changes. */
export const NO_COUNT_CHANGES: Pick<Transfers, 'keptAt' | 'kept'> = {
  keptAt: new Int32Array(0),
  kept: new Float64Array(0),
};

type TransferBook = Pick<
  Book,
  'transfers' | 'columns' | 'weights' | 'events' | 'cash' | 'gross' | 'drift' | 'overlay' | 'exactDivisor' | 'length'
>;

const wholeTransfersCache = new WeakMap<TransferBook, Transfers>();

/**
 * Returns the transfers of a book, with a row for each security that kept only a part of its weight, and for each
 * security to which the rounding of the divisor of a book with cash is assigned. `book` has the weights of all sessions.
 * @cost O(H) for each change of share counts, and O(T H) for a book with cash and a rounded divisor, once
 */
export function listTransfers(book: TransferBook): Transfers | undefined {
  const { transfers } = book;
  const hasRounding = hasRoundedCash(book);
  if (!hasRounding && (transfers === undefined || transfers.keptAt.length === 0)) return transfers;
  const cachedTransfers = wholeTransfersCache.get(book) ?? spreadTransfers(book, hasRounding);
  wholeTransfersCache.set(book, cachedTransfers);
  return cachedTransfers;
}

function hasRoundedCash({ exactDivisor, cash, weights, columns, length }: TransferBook): boolean {
  return exactDivisor !== undefined && weights.length === columns.length * length && cash.some((share) => share !== 0);
}

interface TransferRow {
  readonly t: number;
  readonly slot: number;
  readonly dividends: number;
  readonly moved: number;
}

function spreadTransfers(book: TransferBook, hasRounding: boolean): Transfers {
  const { columns, weights, transfers } = book;
  const H = columns.length;
  const rows: TransferRow[] = [];
  transfers?.at.forEach((t, i) =>
    rows.push({ t, slot: transfers.slot[i]!, dividends: transfers.dividends[i]!, moved: transfers.moved[i]! }),
  );
  transfers?.keptAt.forEach((t, i) => {
    for (let slot = 0; slot < H; slot++) {
      const weight = weights[(t - 1) * H + slot]!;
      if (weight !== 0) rows.push({ t, slot, dividends: 0, moved: weight * (1 - transfers.kept[i]!) });
    }
  });
  rows.sort((a, b) => a.t - b.t);
  if (hasRounding) rows.push(...listRoundings(book, rows));
  rows.sort((a, b) => a.t - b.t);
  return {
    at: Int32Array.from(rows, ({ t }) => t),
    slot: Int32Array.from(rows, ({ slot }) => slot),
    dividends: Float64Array.from(rows, ({ dividends }) => dividends),
    moved: Float64Array.from(rows, ({ moved }) => moved),
    ...NO_COUNT_CHANGES,
  };
}

/** Returns what the rounding of the divisor adds to cash, by session and security: see `spreadRounding`. */
function listRoundings(book: TransferBook, transferRows: readonly TransferRow[]): TransferRow[] {
  const { columns, weights, events, gross, length } = book;
  const H = columns.length;
  const weightsBefore = new Map(events.map(({ at, before }) => [at, before]));
  const drift = readDrift(book);
  const parts = new Float64Array(H);
  const rows: TransferRow[] = [];
  let next = 0;
  for (let t = 1; t < length; t++) {
    const held = weights.subarray((t - 1) * H, t * H);
    const drifted = weightsBefore.get(t) ?? weights.subarray(t * H, (t + 1) * H);
    for (let slot = 0; slot < H; slot++) parts[slot] = drifted[slot]! * drift[t]! - held[slot]!;
    for (; next < transferRows.length && transferRows[next]!.t <= t; next++) {
      const { t: at, slot, dividends, moved } = transferRows[next]!;
      if (at === t) parts[slot]! += dividends + moved;
    }
    const rounding = spreadRounding(parts, held, gross[t]!);
    if (rounding === 0) continue;
    for (let slot = 0; slot < H; slot++)
      if (held[slot] !== 0) rows.push({ t, slot, dividends: 0, moved: Math.abs(held[slot]!) * rounding });
  }
  return rows;
}

/** Difference of a return from the sum of its contributions below which it is a rounding error of the sum. */
const SUM_NOISE = 1e-14;

/**
 * Adds to contributions what the rounding of the divisor adds to the return of cash. The rounding changes the value of
 * securities and cash by one factor, but cash has no contribution. Its difference is spread over the held securities in
 * proportion to the absolute weights.
 * @param parts contributions before costs, [H]
 * @param held weights at the start of the period, [H]
 * @param growth growth of the value over the period, before costs
 * @returns difference per unit of absolute weight; 0 without cash, and if the divisor is not rounded in the period
 */
export function spreadRounding(parts: Float64Array, held: Float64Array, growth: number): number {
  let difference = growth - 1;
  let heldWeight = 0;
  for (let i = 0; i < parts.length; i++) {
    difference -= parts[i]!;
    heldWeight += Math.abs(held[i]!);
  }
  if (Math.abs(difference) <= SUM_NOISE || heldWeight === 0) return 0;
  const rounding = difference / heldWeight;
  for (let i = 0; i < parts.length; i++) parts[i]! += Math.abs(held[i]!) * rounding;
  return rounding;
}

/** Keys of mergers into securities outside the universe of an index: see `createMergerKey`. */
export type OutsideMergers = ReadonlySet<number>;

export function createMergerKey(
  { securityCount }: { readonly securityCount: number },
  session: number,
  column: number,
): number {
  return session * securityCount + column;
}

/** Share-count changes of a book's securities, by session, then slot. */
export interface CountTimeline {
  /** Index of the first change of each session, counted from the first session of the book, [T + 1]. */
  readonly starts: Int32Array;
  readonly slots: Int32Array;
  /** Share counts after the changes. */
  readonly values: Float64Array;
}

interface CountedSeries {
  readonly sm: SessionMarket;
  readonly counts: Series;
  /** Key of the count series within a market. */
  readonly key: string;
  readonly columns: Int32Array;
  /** First and last session. */
  readonly from: number;
  readonly to: number;
}

/** Minimum number of sessions for a list of changes. For shorter books every count is compared on every session. */
const SESSIONS_MIN = 64;

/**
 * Maximum number of changes as a fraction of all counts. With more changes, comparing all counts is as fast as reading
 * a list.
 */
const CHANGES_MAX = 1 / 8;

interface CachedTimeline extends Pick<CountedSeries, 'columns' | 'from' | 'to'> {
  readonly timeline: CountTimeline | null;
}

/** Latest change list for each kind of count. All books of one index have equal securities and share the list. */
const timelineCache = new WeakMap<SessionMarket, Map<string, CachedTimeline>>();

/**
 * Lists the share-count changes over the sessions of a book. Returns null if there are too many changes or too few
 * sessions.
 * @cost O(T H), once
 */
function findCountTimeline(counted: CountedSeries): CountTimeline | null {
  const { sm, key, columns, from, to } = counted;
  if (to - from < SESSIONS_MIN) return null;
  let lists = timelineCache.get(sm);
  if (lists === undefined) timelineCache.set(sm, (lists = new Map()));
  const cachedTimeline = lists.get(key);
  if (cachedTimeline?.from === from && cachedTimeline.to === to && isEqual(cachedTimeline.columns, columns))
    return cachedTimeline.timeline;
  const timeline = listChanges(counted);
  lists.set(key, { columns, from, to, timeline });
  return timeline;
}

function listChanges({ counts, columns, from, to }: CountedSeries): CountTimeline | null {
  const H = columns.length;
  const largestCount = CHANGES_MAX * H * (to - from);
  const starts = new Int32Array(to - from + 2);
  const changes = createGrowingTable({ slots: new Int32Array(0), values: new Float64Array(0) });
  const row = new Float64Array(H);
  const statedCounts = new Float64Array(H).fill(Number.NaN);
  for (let session = from; session <= to; session++) {
    counts.fill(session, columns, row);
    for (let slot = 0; slot < H; slot++) {
      const value = row[slot]!;
      if (value === statedCounts[slot] || !(value > 0)) continue;
      statedCounts[slot] = value;
      if (session === from) continue;
      const change = appendRow(changes);
      changes.columns.slots[change] = slot;
      changes.columns.values[change] = value;
    }
    if (changes.length > largestCount) return null;
    starts[session - from + 1] = changes.length;
  }
  return { starts, ...takeRows(changes) };
}

/** Terms on which a book follows share counts between reviews. */
export interface ShareChangeTerms {
  readonly counts: Series;
  /** Key of the count series within a market. */
  readonly key: string;
  /**
   * Returns the smallest relative change that is adopted on a day. Returns Infinity if shares change only at reviews.
   */
  readonly thresholdOn: (day: Day) => number;
}

/**
 * Share counts of securities, NaN if unknown, [n] each. Index shares use `adopted`; `latest` are the latest counts in
 * the data.
 */
export interface SecurityCounts {
  readonly adopted: Float64Array;
  readonly latest: Float64Array;
}

interface HoldingCounts extends SecurityCounts {
  readonly columns: Int32Array;
}

/** Share counts of a book during its simulation, by slot, [H]. */
export interface CountState extends SecurityCounts {
  readonly terms: ShareChangeTerms;
  /** Scratch memory for the counts of the holdings on a session. */
  readonly values: Float64Array;
  /** Changes in the data; null if they are not listed. */
  readonly timeline: CountTimeline | null;
  /** True if `latest` is the latest count in the data for every holding. Only listed changes can then change it. */
  isSettled: boolean;
  /** Factors on the holdings of the current session. */
  readonly factors: CountFactors;
  readonly changes: AdoptedChanges;
}

/** Factors on holdings from share-count changes, by position; only the first `count` elements are used. */
export interface CountFactors {
  readonly places: Int32Array;
  readonly values: Float64Array;
  count: number;
}

interface AdoptedChanges {
  readonly rows: GrowingTable<ShareChanges>;
  /** Session of the latest adopted change; negative if there is none. */
  latest: number;
}

/** Changes of shares or free float that a book adopted between reviews, by session, then security. */
interface ShareChanges {
  /** Session of the change, which applied after the previous close. */
  readonly session: Int32Array;
  readonly column: Int32Array;
  /** Float-adjusted shares before and after the change, on the share basis of the session. */
  readonly before: Float64Array;
  readonly after: Float64Array;
}

interface CountedBook {
  readonly sm: SessionMarket;
  readonly from: number;
  readonly to: number;
  readonly shareChanges?: ShareChangeTerms | undefined;
}

export function openCounts({ sm, from, to, shareChanges: terms }: CountedBook, columns: Int32Array): CountState | null {
  if (terms === undefined) return null;
  const slotCount = columns.length;
  return {
    timeline: findCountTimeline({ sm, from, to, columns, counts: terms.counts, key: terms.key }),
    isSettled: false,
    terms,
    adopted: new Float64Array(slotCount).fill(Number.NaN),
    latest: new Float64Array(slotCount).fill(Number.NaN),
    values: new Float64Array(slotCount),
    factors: { places: new Int32Array(slotCount), values: new Float64Array(slotCount), count: 0 },
    changes: {
      rows: createGrowingTable<ShareChanges>({
        session: new Int32Array(0),
        column: new Int32Array(0),
        before: new Float64Array(0),
        after: new Float64Array(0),
      }),
      latest: -1,
    },
  };
}

/** Returns the changes that a book adopted. Returns undefined if the book follows no share counts. */
export function listAdoptedChanges({ shareCounts }: Pick<CountedState, 'shareCounts'>): ShareChanges | undefined {
  return shareCounts === null ? undefined : takeRows(shareCounts.changes.rows);
}

/** Part of a book's state that contains share counts. */
interface CountedState {
  readonly shareCounts: CountState | null;
  readonly columns: Int32Array;
  /** Held slots; only the first `count` elements are used. */
  readonly holdings: { readonly heldSlots: Int32Array; readonly count: number };
}

/** Clears the counts of a security that left. */
export function clearCounts({ shareCounts: counts }: CountedState, slot: number): void {
  if (counts === null) return;
  counts.adopted[slot] = Number.NaN;
  counts.latest[slot] = Number.NaN;
}

/** Returns the counts of the holdings. Returns undefined if the book follows no share counts. */
export function selectHoldingCounts({
  shareCounts: counts,
  columns,
  holdings: { heldSlots, count },
}: CountedState): HoldingCounts | undefined {
  if (counts === null) return undefined;
  const selectHeld = (values: Float64Array): Float64Array =>
    Float64Array.from({ length: count }, (_, k) => values[heldSlots[k]!]!);
  return {
    columns: Int32Array.from({ length: count }, (_, k) => columns[heldSlots[k]!]!),
    adopted: selectHeld(counts.adopted),
    latest: selectHeld(counts.latest),
  };
}

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
  /**
   * Fraction of the value that securities which leave a long-only book release at each close, [T]; absent if none
   * leaves.
   */
  readonly exitShares?: Float64Array;
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
  /** 1 for securities held at some close, or only between two steps of a close, [H]. */
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

export function readBookCurrency(
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

/** Returns the gaps of several books from a session on, without duplicates. */
export function listGaps(books: readonly Book[], from: number): Gap[] {
  const gapByKey = new Map<string, Gap>();
  for (const { gaps } of books) {
    for (const gap of gaps) if (gap.session >= from) gapByKey.set(`${gap.session} ${gap.column}`, gap);
  }
  return [...gapByKey.values()].toSorted((a, b) => a.session - b.session || a.column - b.column);
}

/** Stored book with its first session and columns. */
export interface StoredBook extends LevelsOnlyEnd {
  readonly first: number;
  readonly columns: Int32Array;
}

export function toStoredBook(book: Book): StoredBook {
  return { ...shortenBookEnd(book), first: book.from, columns: book.columns };
}

export function extendStoredBook(before: StoredBook, book: Book): StoredBook {
  const shift = book.from - before.first;
  const { orders, ...end } = toStoredBook(book);
  return { ...end, first: before.first, orders: orders.map((order) => moveOrder(order, shift)) };
}

/** Returns the state from which a stored book resumes at a session. Orders become relative to that session. */
export function createBookResume({ end, first, columns, orders }: StoredBook, from: number): BookResume {
  const shift = from - first;
  return { end, first, columns, orders: orders.map((order) => moveOrder(order, -shift)) };
}

/** Returns the end state of a book that is simulated only for its levels. */
export function shortenBookEnd(book: Book): LevelsOnlyEnd {
  return {
    end: requireBookEnd(book),
    orders: book.unfilled.map((order) => ({ ...order, slot: book.columns[order.slot]! })),
  };
}

/** Returns the end state of a book with separate holdings; throws for a book that follows another. */
export function requireBookEnd({ end }: Pick<Book, 'end'>): BookEnd {
  if ('held' in end) return end;
  throw new Error('a book that follows another has no separate holdings');
}

export interface SparseWeightMemory {
  /** Returns zeroed memory. If another book uses the shared memory, allocates new memory. */
  take(cells: number): Float64Array;
  /**
   * Releases the memory of a book that is no longer read.
   * @param followedFrom first session of the portfolio that followed the book
   */
  giveBack(book: Book, followedFrom: number): void;
  /** Releases the memory of an unfinished book. */
  drop(): void;
  /** Returns the number of bytes of the shared memory. */
  bytes(): number;
}

/**
 * Creates memory that sparse books reuse. A book writes few rows; clearing only these is faster than zeroing all rows
 * and leaves no garbage.
 */
export function createSparseMemory(): SparseWeightMemory {
  let buffer = new Float64Array(0);
  let usedPart: Float64Array | undefined;
  return {
    take(cells) {
      if (usedPart !== undefined) return new Float64Array(cells);
      if (buffer.length < cells) buffer = new Float64Array(cells);
      usedPart = buffer.subarray(0, cells);
      return usedPart;
    },
    giveBack(book, followedFrom) {
      if (book.weights !== usedPart) return;
      clearRows(book, followedFrom - book.from);
      usedPart = undefined;
    },
    drop() {
      if (usedPart !== undefined) buffer = new Float64Array(0);
      usedPart = undefined;
    },
    bytes: () => buffer.byteLength,
  };
}

/**
 * Returns one number per slot: 1 if it has a weight at some close or before an event, or if a holding converted into it,
 * otherwise 0, [H]. A security can be sold on the close of the conversion.
 */
export function markEverHeld({ weights, events }: Pick<Book, 'weights' | 'events'>, width: number): Uint8Array {
  const isHeld = new Uint8Array(width);
  for (const rows of [weights, ...events.map(({ before }) => before)]) {
    for (let i = 0; i < rows.length; i++) if (rows[i] !== 0) isHeld[i % width] = 1;
  }
  for (const { conversions } of events) for (const { into } of conversions) isHeld[into] = 1;
  return isHeld;
}

/** Clears the rows that a sparse book writes: starts of holding periods, first followed session, and last session. */
function clearRows({ weights, begins, columns, length }: Book, followedAt: number): void {
  const width = columns.length;
  for (let position = 0; position < length; position++)
    if (begins[position] === 1 || position === followedAt || position === length - 1)
      weights.fill(0, position * width, (position + 1) * width);
}
