import { moveOrder, type Book, type BookOverlay, type StoredFollower, type UnfilledOrder } from '../../books/book.js';
import type { EarlierOrders } from '../../books/overlay-orders.js';
import { extendStoredBook, toStoredBook, type StoredBook } from '../../books/resumed-book.js';

/**
 * Stored state of an overlay. The books of the underlying indices are resumed; the overlay path is recomputed over all
 * sessions, which takes little time.
 */
export interface StoredOverlay {
  /** First session. */
  readonly first: number;
  /** Level at the last close. */
  readonly level: number;
  /** True if the overlay has a return component for the exchange rate on underlying cash. */
  readonly hasCurrencyPart: boolean;
  readonly beneath: readonly StoredLayer[];
  /** Currency weights as in `BookOverlay`; absent if the overlay type needs none. */
  readonly shares?: BookOverlay['shares'];
  /**
   * Orders of the underlying in weights and amounts of the overlay, by column. Sessions are counted from the overlay's
   * first session. Absent if there are no orders.
   */
  readonly orders?: readonly UnfilledOrder[];
}

/** Stored state of one underlying index of an overlay. */
export interface StoredLayer {
  /** First session. */
  readonly first: number;
  /** Growth over every session of the underlying index, [T]. */
  readonly gross: Float64Array;
  readonly of: StoredBook | StoredOverlay;
}

export function isStoredOverlay(layer: StoredBook | StoredOverlay): layer is StoredOverlay {
  return 'beneath' in layer;
}

/** Returns the stored form of the book of an index or of an overlay. */
export function toStoredIndex(book: Book): StoredBook | StoredOverlay {
  if (book.onOwnSessions !== undefined) return toStoredIndex(book.onOwnSessions);
  const { overlay, from, value } = book;
  if (overlay === undefined) return toStoredBook(book);
  return {
    first: from,
    level: value.at(-1)!,
    hasCurrencyPart: overlay.hasCurrencyPart,
    beneath: overlay.beneath.map((ownBook) => ({
      first: ownBook.from,
      gross: ownBook.gross,
      of: toStoredIndex(ownBook),
    })),
    ...createStoredShares(overlay),
    ...createStoredOrders(book, 0),
  };
}

/** Extends the stored state of an index or overlay by the new sessions. */
export function extendStoredIndex(before: StoredBook | StoredOverlay, book: Book): StoredBook | StoredOverlay {
  if (book.onOwnSessions !== undefined) return extendStoredIndex(before, book.onOwnSessions);
  if (!isStoredOverlay(before)) return extendStoredBook(before, book);
  const { beneath } = book.overlay!; // only stored overlays reach this line
  return {
    ...before,
    level: book.value.at(-1)!,
    ...createStoredShares(book.overlay!),
    ...createStoredOrders(book, book.from - before.first),
    beneath: before.beneath.map((layer, k) => ({
      first: layer.first,
      gross: joinGross(layer, beneath[k]!),
      of: extendStoredIndex(layer.of, beneath[k]!),
    })),
  };
}

function createStoredShares({ shares }: BookOverlay): Pick<StoredOverlay, 'shares'> {
  return Object.keys(shares).length === 0 ? {} : { shares };
}

/**
 * Returns the stored state of a portfolio that has no holdings apart from its index.
 * @param by number of sessions from the portfolio's first session to the first session of the book
 */
export function toStoredPortfolio(book: Book, by: number): StoredFollower {
  const { end } = book;
  if ('held' in end) throw new Error('a book with separate holdings is stored as a book');
  return { ...end, ...(end.exposure === undefined ? {} : createStoredOrders(book, by)) };
}

/** Returns the orders of an overlay by column, with their sessions shifted by `by`. */
function createStoredOrders({ unfilled, columns }: Book, by: number): Pick<StoredOverlay, 'orders'> {
  if (unfilled.length === 0) return {};
  return { orders: unfilled.map((order) => ({ ...moveOrder(order, by), slot: columns[order.slot]! })) };
}

/** Returns stored orders with sessions relative to the overlay's last simulated session. */
export function selectOrdersBefore(
  { orders = [], first }: Pick<StoredOverlay, 'orders' | 'first'>,
  from: number,
): EarlierOrders {
  return { orders: orders.map((order) => moveOrder(order, first - from)), heldFor: from - first };
}

/**
 * Joins the currency weights of the stored sessions and of the new sessions. The first new session is also the last
 * stored one.
 */
export function appendShares(
  { shares = {} }: Pick<StoredOverlay, 'shares'>,
  added: BookOverlay['shares'],
): BookOverlay['shares'] {
  return Object.fromEntries(
    Object.entries(shares).map(([code, share]) => [code, Float64Array.from([...share, ...added[code]!.subarray(1)])]),
  );
}

/** Joins the growth of an underlying index on the stored sessions with its growth on the new sessions. */
export function joinGross({ gross }: StoredLayer, book: Pick<Book, 'gross'>): Float64Array {
  const joinedGross = new Float64Array(gross.length + book.gross.length - 1);
  joinedGross.set(gross);
  joinedGross.set(book.gross.subarray(1), gross.length);
  return joinedGross;
}
