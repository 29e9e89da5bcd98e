import { findLastAtMost } from '../../numbers/search.js';

/**
 * Returns the position, among ascending columns, of each of some other ascending columns; -1 if it is not among them.
 */
export function assignSlots(columns: Int32Array, others: Int32Array): Int32Array {
  const slots = new Int32Array(others.length).fill(-1);
  for (let i = 0, slot = 0; i < others.length; i++) {
    while (slot < columns.length && columns[slot]! < others[i]!) slot++;
    if (columns[slot] === others[i]) slots[i] = slot;
  }
  return slots;
}

/** Rearranges a row for another set of securities; securities without a slot get 0. */
export function scatter(row: Float64Array, slots: Int32Array, into: Float64Array): void {
  for (let i = 0; i < slots.length; i++) into[i] = slots[i]! < 0 ? 0 : row[slots[i]!]!;
}

/** Returns the position of a column among ascending ones; -1 if it is not among them. */
export function findPosition(columns: Int32Array, column: number): number {
  const place = findLastAtMost(columns, column);
  return columns[place] === column ? place : -1;
}
