import { movedOrder, type Book, type BookOverlay, type StoredFollow, type UnfilledOrder } from '../../books/book.js';
import type { EarlierOrders } from '../../books/overlay-orders.js';
import { storedAfter, storedBook, type StoredBook } from '../../books/resumed-book.js';

/**
 * An overlay as it is stored. What it does is a function of what lies beneath over all sessions, which is cheap: the
 * books beneath are resumed, and its own path is computed anew.
 */
export interface StoredOverlay {
  /** First session. */
  readonly first: number;
  /** Level at the last close. */
  readonly level: number;
  /** Whether it has a part of the exchange rate on cash beneath. */
  readonly hasCurrencyPart: boolean;
  readonly beneath: readonly StoredLayer[];
  /** As a book has them; absent where its type asks for none. */
  readonly shares?: BookOverlay['shares'];
  /** Orders beneath in its own weights and money, by column, placed from its first session; absent without any. */
  readonly orders?: readonly UnfilledOrder[];
}

/** An index beneath an overlay. */
export interface StoredLayer {
  /** First session. */
  readonly first: number;
  /** Growth over every session of its own, [T]. */
  readonly gross: Float64Array;
  readonly of: StoredBook | StoredOverlay;
}

export function isStoredOverlay(of: StoredBook | StoredOverlay): of is StoredOverlay {
  return 'beneath' in of;
}

/** The book of an index or of an overlay, as it is stored. */
export function storedIndex(book: Book): StoredBook | StoredOverlay {
  if (book.onOwnSessions !== undefined) return storedIndex(book.onOwnSessions);
  const { overlay, from, value } = book;
  if (overlay === undefined) return storedBook(book);
  return {
    first: from,
    level: value.at(-1)!,
    hasCurrencyPart: overlay.hasCurrencyPart,
    beneath: overlay.beneath.map((own) => ({ first: own.from, gross: own.gross, of: storedIndex(own) })),
    ...storedShares(overlay),
    ...storedOrders(book, 0),
  };
}

/** A stored index or overlay with the sessions after it. */
export function storedIndexAfter(before: StoredBook | StoredOverlay, book: Book): StoredBook | StoredOverlay {
  if (book.onOwnSessions !== undefined) return storedIndexAfter(before, book.onOwnSessions);
  if (!isStoredOverlay(before)) return storedAfter(before, book);
  const { beneath } = book.overlay!; // Of a stored overlay.
  return {
    ...before,
    level: book.value.at(-1)!,
    ...storedShares(book.overlay!),
    ...storedOrders(book, book.from - before.first),
    beneath: before.beneath.map((layer, k) => ({
      first: layer.first,
      gross: grossAfter(layer, beneath[k]!),
      of: storedIndexAfter(layer.of, beneath[k]!),
    })),
  };
}

function storedShares({ shares }: BookOverlay): Pick<StoredOverlay, 'shares'> {
  return Object.keys(shares).length === 0 ? {} : { shares };
}

/** Where a portfolio stands. @param by sessions from its first to the first of the book */
export function storedPortfolio(book: Book, by: number): StoredFollow {
  const { end } = book;
  if ('held' in end) throw new Error('a book with holdings of its own is stored as a book');
  return { ...end, ...(end.exposure === undefined ? {} : storedOrders(book, by)) };
}

/** Orders of an overlay by column, so many sessions later. */
function storedOrders({ unfilled, columns }: Book, by: number): Pick<StoredOverlay, 'orders'> {
  if (unfilled.length === 0) return {};
  return { orders: unfilled.map((order) => ({ ...movedOrder(order, by), slot: columns[order.slot]! })) };
}

/** Stored orders, placed from the session that the overlay was held to. */
export function ordersBefore(
  { orders = [], first }: Pick<StoredOverlay, 'orders' | 'first'>,
  from: number,
): EarlierOrders {
  return { orders: orders.map((order) => movedOrder(order, first - from)), heldFor: from - first };
}

/** Weights by currency over the stored sessions and those after it, of which the first is stored. */
export function sharesAfter(
  { shares = {} }: Pick<StoredOverlay, 'shares'>,
  added: BookOverlay['shares'],
): BookOverlay['shares'] {
  return Object.fromEntries(
    Object.entries(shares).map(([code, share]) => [code, Float64Array.from([...share, ...added[code]!.subarray(1)])]),
  );
}

/** Growth over the sessions of a stored layer and those after it. */
export function grossAfter({ gross }: StoredLayer, book: Pick<Book, 'gross'>): Float64Array {
  const whole = new Float64Array(gross.length + book.gross.length - 1);
  whole.set(gross);
  whole.set(book.gross.subarray(1), gross.length);
  return whole;
}
