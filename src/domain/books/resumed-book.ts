import { movedOrder, type Book, type BookEnd, type BookResume, type BriefEnd } from './book.js';

/** A book as it is stored: with its first session and its columns. */
export interface StoredBook extends BriefEnd {
  readonly first: number;
  readonly columns: Int32Array;
}

export function storedBook(book: Book): StoredBook {
  return { ...briefEnd(book), first: book.from, columns: book.columns };
}

/** A stored book with the sessions after it. */
export function storedAfter(before: StoredBook, book: Book): StoredBook {
  const shift = book.from - before.first;
  const { orders, ...end } = storedBook(book);
  return { ...end, first: before.first, orders: orders.map((order) => movedOrder(order, shift)) };
}

/** A stored book resumed from a session, to which its orders are relative. */
export function resumeOf({ end, first, columns, orders }: StoredBook, from: number): BookResume {
  const shift = from - first;
  return { end, first, columns, orders: orders.map((order) => movedOrder(order, -shift)) };
}

/** State of a book that is simulated for its levels only. */
export function briefEnd(book: Book): BriefEnd {
  return { end: ownEnd(book), orders: book.unfilled.map((order) => ({ ...order, slot: book.columns[order.slot]! })) };
}

/** End state of a book that follows no other. */
export function ownEnd({ end }: Pick<Book, 'end'>): BookEnd {
  if ('held' in end) return end;
  throw new Error('a book that follows another has no holdings of its own');
}
