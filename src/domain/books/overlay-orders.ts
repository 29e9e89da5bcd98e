import { moveOrder, type Book, type UnfilledOrder } from './book.js';

/** Underlying book on the sessions of the overlay. */
export interface Layer {
  readonly book: Book;
  /** Positions of the book's columns among the overlay's columns. */
  readonly places: Int32Array;
  /** Session index in the book of the overlay's first session. */
  readonly shift: number;
  /** Exposure of the overlay to the book after each close, as a fraction, [T]. */
  readonly exposure: Float64Array;
  readonly exchange: Float64Array | null;
  /** Factor from the weights after the previous close to the weights before this close, by session of the book. */
  readonly drift: Float64Array;
}

/** Orders of an overlay before its first session, for a resumed overlay. */
export interface EarlierOrders {
  /** Orders up to the first session, with sessions relative to it. */
  readonly orders: readonly UnfilledOrder[];
  /** Number of sessions on which the overlay was held before. */
  readonly heldFor: number;
}

/**
 * Returns the orders of the underlying books on the overlay's sessions, in weights and money of the overlay, by
 * underlying book. Only the outcome of an order up to the first session is new; its other fields come from `earlier`.
 */
export function listOrders(layers: readonly Layer[], value: Float64Array, earlier?: EarlierOrders): UnfilledOrder[] {
  let position = 0;
  return layers.flatMap(({ book, places, shift, exposure }) =>
    book.unfilled.flatMap((underlyingOrder) => {
      const order = { ...moveOrder(underlyingOrder, -shift), slot: places[underlyingOrder.slot]! };
      const { at, slot, filledAt, replacedAt } = order;
      if (at < -(earlier?.heldFor ?? 0)) return [];
      if (earlier !== undefined && at <= 0) return [{ ...earlier.orders[position++]!, slot, filledAt, replacedAt }];
      const heldPart = exposure[at]!;
      const notional = (heldPart * order.notional * value[at]!) / book.value[underlyingOrder.at]!;
      return [{ ...order, target: heldPart * order.target, held: heldPart * order.held, notional }];
    }),
  );
}
