import { movedOrder, type Book, type UnfilledOrder } from './book.js';

/** A book beneath, on the sessions of the overlay. */
export interface Layer {
  readonly book: Book;
  /** Places of its columns. */
  readonly places: Int32Array;
  /** Position in the book of the first session. */
  readonly shift: number;
  /** Fraction of the overlay that holds it, after each close, [T]. */
  readonly exposure: Float64Array;
  readonly exchange: Float64Array | null;
  /** What turns its weights into what those of the close before grew to, by session of the book. */
  readonly drift: Float64Array;
}

/** Orders of an overlay that was held before its first session. */
export interface EarlierOrders {
  /** Those given up to that session, placed from it. */
  readonly orders: readonly UnfilledOrder[];
  /** Sessions that it was held before that session. */
  readonly heldFor: number;
}

/**
 * Orders beneath an overlay that are given on its sessions, in its weights and money, layer after layer. Of those given
 * earlier only what became of them is new.
 */
export function ordersOf(layers: readonly Layer[], value: Float64Array, earlier?: EarlierOrders): UnfilledOrder[] {
  let known = 0;
  return layers.flatMap(({ book, places, shift, exposure }) =>
    book.unfilled.flatMap((beneath) => {
      const order = { ...movedOrder(beneath, -shift), slot: places[beneath.slot]! };
      const { at, slot, filledAt, replacedAt } = order;
      if (at < -(earlier?.heldFor ?? 0)) return [];
      if (earlier !== undefined && at <= 0) return [{ ...earlier.orders[known++]!, slot, filledAt, replacedAt }];
      const held = exposure[at]!;
      const notional = (held * order.notional * value[at]!) / book.value[beneath.at]!;
      return [{ ...order, target: held * order.target, held: held * order.held, notional }];
    }),
  );
}
