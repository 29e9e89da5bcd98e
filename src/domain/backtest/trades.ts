import type { Book, BookEvent } from './book.js';

/** One purchase or sale of a book at a close. */
export interface Trade {
  readonly slot: number;
  /** Money bought, negative for a sale. */
  readonly notional: number;
  readonly reason: 'rebalance' | 'retry' | 'delisting';
  /** A name that left at its price, or was received for another, costs nothing. */
  readonly isFree: boolean;
}

/** Notional below this fraction of the value is rounding, not a trade. */
const NOTIONAL_MIN = 1e-12;

/**
 * The trades of one session of a book, by slot: what holdings changed by beside drift.
 * @cost O(H)
 */
export function tradesOf(book: Book, event: BookEvent): Trade[] {
  const { value, weights, columns } = book;
  const names = columns.length;
  const row = event.at * names;
  const valueAfter = value[event.at]!;
  const free = freeTrades(event);
  const retried = new Set(event.retried);
  const trades: Trade[] = [];
  const smallest = NOTIONAL_MIN * Math.abs(event.valueBefore);
  const usual = event.rebalanced ? 'rebalance' : 'delisting';
  for (let slot = 0; slot < names; slot++) {
    const held = event.before[slot]! * event.valueBefore;
    const given = free.get(slot) ?? 0;
    if (Math.abs(given) > smallest) trades.push({ slot, notional: given, reason: 'delisting', isFree: true });
    const notional = weights[row + slot]! * valueAfter - (held + given);
    if (Math.abs(notional) > smallest) trades.push({ slot, notional, reason: retried.has(slot) ? 'retry' : usual, isFree: false });
  }
  return trades;
}

/** Money of names that left or came without being traded, by slot. */
function freeTrades({ moves, valueBefore }: BookEvent): Map<number, number> {
  const free = new Map<number, number>();
  for (const { slot, change } of moves) free.set(slot, (free.get(slot) ?? 0) + change * valueBefore);
  return free;
}
