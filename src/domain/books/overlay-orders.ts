import { moveOrder, type Book, type UnfilledOrder } from './book.js';

/** Underlying book on the sessions of the overlay. */
export interface Layer {
  readonly book: Book;
  /** Positions of its columns. */
  readonly places: Int32Array;
  /** Position in the book of the first session. */
  readonly shift: number;
  /** Fraction of the overlay that holds it, after each close, [T]. */
  readonly exposure: Float64Array;
  readonly exchange: Float64Array | null;
  /** Factor from its weights after the previous close to those before this close, by session of the book. */
  readonly drift: Float64Array;
}

/** Orders of an overlay that was held before its first session. */
export interface EarlierOrders {
  /** Orders up to that session, with sessions relative to it. */
  readonly orders: readonly UnfilledOrder[];
  /** Number of sessions on which it was held before. */
  readonly heldFor: number;
}

/**
 * Returns the orders of the underlying on the sessions of an overlay, in weights and money of the overlay, layer by
 * layer. For earlier orders only the outcome is new.
 */
export function listOrders(layers: readonly Layer[], value: Float64Array, earlier?: EarlierOrders): UnfilledOrder[] {
  let known = 0;
  return layers.flatMap(({ book, places, shift, exposure }) =>
    book.unfilled.flatMap((beneath) => {
      const order = { ...moveOrder(beneath, -shift), slot: places[beneath.slot]! };
      const { at, slot, filledAt, replacedAt } = order;
      if (at < -(earlier?.heldFor ?? 0)) return [];
      if (earlier !== undefined && at <= 0) return [{ ...earlier.orders[known++]!, slot, filledAt, replacedAt }];
      const held = exposure[at]!;
      const notional = (held * order.notional * value[at]!) / book.value[beneath.at]!;
      return [{ ...order, target: held * order.target, held: held * order.held, notional }];
    }),
  );
}
