import { moveOrder, type Book, type BookEnd, type BookResume, type LevelsOnlyEnd } from './book.js';

/** Stored book with its first session and columns. */
export interface StoredBook extends LevelsOnlyEnd {
  readonly first: number;
  readonly columns: Int32Array;
}

export function toStoredBook(book: Book): StoredBook {
  return { ...shortenBookEnd(book), first: book.from, columns: book.columns };
}

/** Extends a stored book by the new sessions. */
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
