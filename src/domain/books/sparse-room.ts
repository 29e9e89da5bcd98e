import type { Book } from './book.js';

/** Memory for the weights of sparse books, one at a time. */
export interface SparseRoom {
  /** All zero; newly allocated if another book is using the shared memory. */
  take(cells: number): Float64Array;
  /**
   * Releases the memory when the book is no longer read.
   * @param followedFrom session from which a portfolio followed it
   */
  giveBack(book: Book, followedFrom: number): void;
  /** Releases the memory of an unfinished book. */
  drop(): void;
  /** Returns the size of the memory kept for the next book. */
  bytes(): number;
}

/**
 * Reuses memory between sparse books: clearing the few rows that one writes is faster than zeroing memory for all rows,
 * and avoids garbage.
 */
export function createSparseRoom(): SparseRoom {
  let kept = new Float64Array(0);
  let taken: Float64Array | undefined;
  return {
    take(cells) {
      if (taken !== undefined) return new Float64Array(cells);
      if (kept.length < cells) kept = new Float64Array(cells);
      taken = kept.subarray(0, cells);
      return taken;
    },
    giveBack(book, followedFrom) {
      if (book.weights !== taken) return;
      clearRows(book, followedFrom - book.from);
      taken = undefined;
    },
    drop() {
      if (taken !== undefined) kept = new Float64Array(0);
      taken = undefined;
    },
    bytes: () => kept.byteLength,
  };
}

/** Clears the rows of a sparse book: starts of holding periods, the first followed session, and the last. */
function clearRows({ weights, begins, columns, length }: Book, followedAt: number): void {
  const width = columns.length;
  for (let at = 0; at < length; at++)
    if (begins[at] === 1 || at === followedAt || at === length - 1) weights.fill(0, at * width, (at + 1) * width);
}
