import { findLastAtMost } from '../../numbers/search.js';

/** Returns the position in `columns` of each of the `others`; -1 if absent. Both arrays ascend. */
export function assignSlots(columns: Int32Array, others: Int32Array): Int32Array {
  const slots = new Int32Array(others.length).fill(-1);
  for (let i = 0, slot = 0; i < others.length; i++) {
    while (slot < columns.length && columns[slot]! < others[i]!) slot++;
    if (columns[slot] === others[i]) slots[i] = slot;
  }
  return slots;
}

/**
 * Writes the values of a row for other securities. `slots` are their positions in the row; a negative position gives 0.
 */
export function scatterRow(row: Float64Array, slots: Int32Array, into: Float64Array): void {
  for (let i = 0; i < slots.length; i++) into[i] = slots[i]! < 0 ? 0 : row[slots[i]!]!;
}

/** Returns the position of a column in an ascending array. Returns -1 if absent. */
export function findPosition(columns: Int32Array, column: number): number {
  const position = findLastAtMost(columns, column);
  return columns[position] === column ? position : -1;
}
