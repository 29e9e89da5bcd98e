import { allocateRetainedMemory } from '#base/memory.js';
import type { Finding } from '../base/findings.js';
import type { Day } from '../base/time.js';
import type { Book, BookEvent } from './book.js';
import type { Composition } from './compositions.js';

export const TRADE_REASONS = ['rebalance', 'retry', 'delisting'] as const;
const [REBALANCE, RETRY, DELISTING] = [0, 1, 2];

/** Trades of a book in columnar form, sorted by date, then slot. */
export interface Trades {
  readonly count: number;
  /** Date index within the book. */
  readonly at: Int32Array;
  readonly slot: Int32Array;
  /** Purchase amount, negative for a sale; covering a short position is a purchase. */
  readonly notional: Float64Array;
  readonly reason: Uint8Array;
  /** 1 for a trade without costs: an exit at a price, or a receipt from a conversion. */
  readonly isFree: Uint8Array;
}

/** Fraction of the value below which an amount is a rounding error and not a trade. */
const NOTIONAL_MIN = 1e-12;

/**
 * Derives trades from changes of holdings that price growth does not explain.
 * @cost O(E H)
 */
export function listTrades(book: Book): Trades {
  const columnCount = book.columns.length;
  const events = book.events.filter(({ isUntraded }) => isUntraded !== true);
  const lastSession = events.reduce(
    (sum, { conversions, exits, fills }) => sum + columnCount + 2 * conversions.length + exits.length + fills.length,
    0,
  );
  const memory = allocateRetainedMemory(18 * lastSession); // Daily trades take about 20 MB; memory outside the heap keeps them out of garbage collection.
  const trades: GrowingTrades = {
    count: 0,
    notional: new Float64Array(memory, 0, lastSession),
    at: new Int32Array(memory, 8 * lastSession, lastSession),
    slot: new Int32Array(memory, 12 * lastSession, lastSession),
    reason: new Uint8Array(memory, 16 * lastSession, lastSession),
    isFree: new Uint8Array(memory, 17 * lastSession, lastSession),
  };
  for (const event of events) addTrades(trades, book, event);
  return trades;
}

type GrowingTrades = { -readonly [K in keyof Trades]: Trades[K] };

function addTrades(trades: GrowingTrades, { value, weights, columns }: Book, event: BookEvent): void {
  const columnCount = columns.length;
  const { at, before, valueBefore } = event;
  const row = at * columnCount;
  const valueAfter = value[at]!;
  const movedMoney = findMovedMoney(event, columnCount);
  const smallest = NOTIONAL_MIN * Math.abs(valueBefore);
  const freeKind: TradeKind = { at, reason: DELISTING!, isFree: 1 };
  const standardKind: TradeKind = { at, reason: event.rebalanced ? REBALANCE! : DELISTING!, isFree: 0 };
  const retryKind: TradeKind = { at, reason: RETRY!, isFree: 0 };
  const notionalBySlot =
    event.fills.length > 0 ? new Map(event.fills.map(({ slot, notional }) => [slot, notional])) : undefined;
  for (let slot = 0; slot < columnCount; slot++) {
    const transferredMoney = movedMoney === null ? 0 : movedMoney[slot]!;
    const notional = weights[row + slot]! * valueAfter - (before[slot]! * valueBefore + transferredMoney);
    if (Math.abs(transferredMoney) > smallest) addTrade(trades, freeKind, { slot, notional: transferredMoney });
    // A security may be bought to replace one that left, and sold by an earlier order on the same day.
    const fill = notionalBySlot?.get(slot);
    const remainder = fill === undefined ? notional : notional - fill;
    const isOfFill = fill !== undefined && Math.abs(remainder) <= smallest;
    const retriedNotional = isOfFill ? notional : (fill ?? 0);
    if (Math.abs(retriedNotional) > smallest) addTrade(trades, retryKind, { slot, notional: retriedNotional });
    if (!isOfFill && Math.abs(remainder) > smallest) addTrade(trades, standardKind, { slot, notional: remainder });
  }
}

/** Fields that all trades of an event share. */
interface TradeKind {
  readonly at: number;
  readonly reason: number;
  readonly isFree: 0 | 1;
}

function addTrade(
  trades: GrowingTrades,
  { at, reason, isFree }: TradeKind,
  { slot, notional }: { readonly slot: number; readonly notional: number },
): void {
  const position = trades.count++;
  trades.at[position] = at;
  trades.slot[position] = slot;
  trades.notional[position] = notional;
  trades.reason[position] = reason;
  trades.isFree[position] = isFree;
}

/** Returns the value that left or entered each slot without a trade, [H]. Returns null if no value did. */
function findMovedMoney(event: BookEvent, columnCount: number): Float64Array | null {
  if (event.exits.length === 0 && event.conversions.length === 0) return null;
  const money = new Float64Array(columnCount);
  moveWeights(money, event, event.valueBefore);
  return money;
}

/** Adds the weight changes from exits and conversions, times `value`, [H]. */
export function moveWeights(
  into: Float64Array,
  { conversions, exits }: Pick<BookEvent, 'conversions' | 'exits'>,
  value = 1,
): void {
  for (const { slot, into: other, weight } of conversions) {
    into[slot]! += -weight * value;
    into[other]! += weight * value;
  }
  for (const { slot, change } of exits) into[slot]! += change * value;
}

/** Securities that a rebalance traded at the price of an earlier session, in column order. */
export interface StaleFills {
  readonly columns: Int32Array;
  /** Day of the price bar of each trade. */
  readonly lastBars: Int32Array;
  /** Age of the price of each trade, in sessions of the security's calendar. */
  readonly ages: Int32Array;
}

/**
 * Returns the trades of a book at prices of an earlier session, by rebalance session. While an exchange is closed, the
 * price of its latest session is not stale.
 * @cost O(E H)
 */
export function listStaleFills(book: Book): ReadonlyMap<number, StaleFills> {
  const results = new Map<number, StaleFills>();
  for (const event of book.events) {
    const fills = event.rebalanced ? findStaleFills(book, event) : null;
    if (fills !== null) results.set(book.from + event.at, fills);
  }
  return results;
}

function findStaleFills(book: Book, event: BookEvent): StaleFills | null {
  const { sm, columns, from, weights } = book;
  const { at, before, conversions, exits } = event;
  const session = from + at;
  const row = at * columns.length;
  // If no security converts or leaves, a security with zero weight before and after the event did not trade.
  const areOthersIdle = conversions.length + exits.length === 0;
  const unpricedSlots: number[] = [];
  for (let slot = 0; slot < columns.length; slot++) {
    const column = columns[slot]!;
    if (sm.hasBar(session, column)) continue;
    if (areOthersIdle && weights[row + slot] === 0 && before[slot] === 0) continue;
    if (sm.barAge(session, column) > 0) unpricedSlots.push(slot);
  }
  const staleColumns =
    unpricedSlots.length === 0 ? [] : listTradedSlots(unpricedSlots, book, event).map((slot) => columns[slot]!);
  if (staleColumns.length === 0) return null;
  return {
    columns: Int32Array.from(staleColumns),
    lastBars: Int32Array.from(staleColumns, (column): Day => sm.barDay(session, column)),
    ages: Int32Array.from(staleColumns, (column) => sm.barAge(session, column)),
  };
}

/** Returns the slots whose weight changed by more than rounding. Exits, and entries without a trade, do not count. */
function listTradedSlots(slots: readonly number[], { columns, weights, value }: Book, event: BookEvent): number[] {
  const { at, before, valueBefore } = event;
  const heldWeights = before.slice();
  moveWeights(heldWeights, event);
  return slots.filter((slot) => {
    const notional = weights[at * columns.length + slot]! * value[at]! - heldWeights[slot]! * valueBefore;
    return Math.abs(notional) > NOTIONAL_MIN * Math.abs(valueBefore);
  });
}

/**
 * Returns the stale fills of a portfolio by rebalance session. If the initial purchase is between two rebalances, its
 * fills belong to the rebalance in force.
 */
export function groupFillsByRebalance(
  portfolio: Book,
  rebalances: readonly Pick<Composition, 'session'>[],
): ReadonlyMap<number, StaleFills> {
  const fills = listStaleFills(portfolio);
  const openingFills = fills.get(portfolio.from);
  const first = rebalances[0]?.session;
  if (openingFills === undefined || first === undefined || first >= portfolio.from) return fills;
  return new Map([[first, openingFills], ...[...fills].filter(([session]) => session !== portfolio.from)]);
}

/** Number of stale fills, and number of rebalances with stale fills. */
export interface StaleCount {
  readonly fills: number;
  readonly rebalances: number;
}

export function countStale(
  fills: ReadonlyMap<number, StaleFills>,
  before: StaleCount = { fills: 0, rebalances: 0 },
): StaleCount {
  return {
    fills: [...fills.values()].reduce((sum, { columns }) => sum + columns.length, before.fills),
    rebalances: before.rebalances + fills.size,
  };
}

/** Returns a warning with the number of stale fills. Returns an empty list without stale fills. */
export function reportStaleFills({ fills, rebalances }: StaleCount): Finding[] {
  if (fills === 0) return [];
  const [trades, were] = fills === 1 ? ['trade', 'was'] : ['trades', 'were'];
  const datesText = rebalances === 1 ? '1 rebalance' : `${rebalances} rebalances`;
  const message = `${fills} ${trades} of ${datesText} ${were} filled at the price of an earlier session; each rebalance lists the securities.`;
  return [{ severity: 'warning', code: 'STALE_FILL', message, path: 'pipeline.treatment.stale_targets', value: fills }];
}
