import type { Day } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import type { Book, BookEvent } from './book.js';
import type { Composition } from './compositions.js';
import { moveWeights, NOTIONAL_MIN } from './trades.js';

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
