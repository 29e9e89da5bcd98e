import type { Book } from './book.js';

/** Memory for the weights of sparse books, which only one book uses at a time. */
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

/** Clears the rows that a sparse book writes: starts of holding periods, first followed session, and last session. */
function clearRows({ weights, begins, columns, length }: Book, followedAt: number): void {
  const width = columns.length;
  for (let position = 0; position < length; position++)
    if (begins[position] === 1 || position === followedAt || position === length - 1)
      weights.fill(0, position * width, (position + 1) * width);
}
