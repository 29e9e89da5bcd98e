import type { Order } from './order.js';

/** Priority queue of orders. */
export interface OrderQueue {
  first(): Order | undefined;
  /** Moves the first order to its new, later position; removes it if it is finished. */
  settle(isOver: boolean): void;
}

/** Creates a binary heap. Equal orders keep their sequence. @cost O(n log n), then O(log n) per change */
export function createQueue(orders: readonly Order[], comesBefore: (one: Order, other: Order) => boolean): OrderQueue {
  const positionByOrder = new Map(orders.map((order, i) => [order, i]));
  const isBefore = (order: Order, otherOrder: Order): boolean =>
    comesBefore(order, otherOrder) ||
    (!comesBefore(otherOrder, order) && positionByOrder.get(order)! < positionByOrder.get(otherOrder)!);
  const heap = orders.toSorted((order, otherOrder) => (isBefore(order, otherOrder) ? -1 : 1));
  return {
    first: () => heap[0],
    settle(isOver) {
      if (isOver) {
        const last = heap.pop()!;
        if (heap.length === 0) return;
        heap[0] = last;
      }
      moveDown(heap, isBefore);
    },
  };
}

/** Moves the first element of a heap to its position. */
function moveDown(heap: Order[], isBefore: (one: Order, other: Order) => boolean): void {
  for (let position = 0; ;) {
    let least = position;
    for (const child of [2 * position + 1, 2 * position + 2])
      if (child < heap.length && isBefore(heap[child]!, heap[least]!)) least = child;
    if (least === position) return;
    [heap[position], heap[least]] = [heap[least]!, heap[position]!];
    position = least;
  }
}
