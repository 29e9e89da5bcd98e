import type { Book } from './book.js';

/** Memory for the weights of sparse books, one after the other. */
export interface SparseRoom {
  /** All zero; memory of their own for books beside the one that has it. */
  take(cells: number): Float64Array;
  /**
   * Nobody reads the book that took it any more.
   * @param followedFrom session from which a portfolio followed it
   */
  giveBack(book: Book, followedFrom: number): void;
  /** The same of a book that was not finished. */
  drop(): void;
  /** What is kept for the next book. */
  bytes(): number;
}

/**
 * A sparse book writes few of its rows: to clear those is quicker than to fill memory for all of them, and nothing is
 * left to the collector.
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

/** Clears the rows of a sparse book: where a holding period begins, where it is followed from, and the last. */
function clearRows({ weights, begins, columns, length }: Book, followedAt: number): void {
  const width = columns.length;
  for (let at = 0; at < length; at++)
    if (begins[at] === 1 || at === followedAt || at === length - 1) weights.fill(0, at * width, (at + 1) * width);
}
