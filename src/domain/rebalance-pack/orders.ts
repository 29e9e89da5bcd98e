import { costOf, marginalCost, type TradeTerms } from './trade-costs.js';

/** One name as orders see it. */
export interface PackName extends TradeTerms {
  readonly identifier: string;
  /** Weight wanted; 0 for one that leaves. */
  readonly weight: number;
  /** Shares that orders are multiples of. */
  readonly lot: number;
}

export interface Order {
  readonly name: PackName;
  readonly before: number;
  /** Shares after it. */
  after: number;
}

export interface FilledAccount {
  /** Value before the trades. */
  readonly value: number;
  /** Cash behind them. */
  readonly cash: number;
  readonly cost: number;
  /** Half the value traded over the value of the account. */
  readonly turnover: number;
  /** Orders of the names whose shares change. */
  readonly orders: readonly Order[];
  /** Whether sales alone leave less than no cash: no order can be lowered any more. */
  readonly isShort: boolean;
}

/** Reductions of one account: of the largest order by so many lots at once that no other would come first. */
const REDUCTIONS_MAX = 5_000_000;

/**
 * The orders that bring an account to the weights wanted: lots times the half-even rounding of weight * value / (price
 * * lot). Where cash does not suffice, purchases are lowered lot by lot, that which changes least in proportion first.
 * @param held shares by position of the names, [n]
 */
export function ordersOf(names: readonly PackName[], held: Float64Array, cash: number): FilledAccount {
  const value = names.reduce((sum, { price }, i) => sum + held[i]! * price, cash);
  const orders = names.map((name, i): Order => {
    const lots = roundHalfEven((name.weight * value) / (name.price * name.lot));
    return { name, before: held[i]!, after: name.weight === 0 ? 0 : lots * name.lot };
  });
  let left = orders.reduce((sum, order) => sum - paid(order), cash);
  const isShort = left < 0 && (left = lowered(orders, left)) < 0;
  const cost = orders.reduce((sum, order) => sum + orderCost(order), 0);
  const traded = orders.reduce((sum, { name, before, after }) => sum + Math.abs(after - before) * name.price, 0);
  return {
    value,
    cash: left,
    cost,
    turnover: value === 0 ? 0 : traded / 2 / value,
    orders: orders.filter(({ before, after }) => before !== after),
    isShort,
  };
}

/** Shares to the nearest whole number, of two as near the even one. */
export function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

export function orderCost({ name, before, after }: Order): number {
  return costOf(name, Math.abs(after - before));
}

/** Cash that an order takes, its cost included; negative for what a sale brings. */
function paid(order: Order): number {
  return (order.after - order.before) * order.name.price + orderCost(order);
}

/** Lowers purchases until cash is not negative any more. @returns the cash then @cost O((n + reductions) log n) */
function lowered(orders: readonly Order[], cash: number): number {
  const lotsOf = ({ name, before, after }: Order) => (after - before) / name.lot;
  const queue = largestFirst(
    orders.filter((order) => order.after > order.before),
    lotsOf,
  );
  let left = cash;
  for (let n = 0; left < 0 && n < REDUCTIONS_MAX; n++) {
    const order = queue.first();
    if (order === undefined) return left;
    const { price, lot } = order.name;
    const lots = lotsOf(order);
    // What one lot gives back at most: fewer lots than this are never enough.
    const most = price * lot + marginalCost(order.name, order.after - order.before) * lot;
    const next = queue.second();
    const ahead = next === undefined ? lots : Math.floor(lots - lotsOf(next));
    const count = Math.min(Math.max(1, Math.min(ahead, Math.floor(-left / most))), Math.max(1, Math.floor(lots)));
    const before = paid(order);
    order.after = Math.max(order.before, order.after - count * lot);
    left += before - paid(order);
    queue.settle();
  }
  return left;
}

interface OrderQueue {
  first(): Order | undefined;
  second(): Order | undefined;
  /** Finds the place of the first, whose key fell; one without any lots left leaves. */
  settle(): void;
}

/** A binary heap; of equal keys the earlier name is first. */
function largestFirst(orders: readonly Order[], keyOf: (order: Order) => number): OrderQueue {
  const place = new Map(orders.map((order, i) => [order, i]));
  const isBefore = (a: Order, b: Order) =>
    keyOf(a) > keyOf(b) || (keyOf(a) === keyOf(b) && place.get(a)! < place.get(b)!);
  const heap = orders.toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
  return {
    first: () => heap[0],
    second() {
      const [, left, right] = heap;
      return left === undefined || right === undefined ? left : isBefore(left, right) ? left : right;
    },
    settle() {
      if (keyOf(heap[0]!) <= 0) {
        const last = heap.pop()!;
        if (heap.length === 0) return;
        if (last !== heap[0]) heap[0] = last;
      }
      for (let at = 0; ;) {
        let largest = at;
        for (const child of [2 * at + 1, 2 * at + 2])
          if (child < heap.length && isBefore(heap[child]!, heap[largest]!)) largest = child;
        if (largest === at) return;
        [heap[at], heap[largest]] = [heap[largest]!, heap[at]!];
        at = largest;
      }
    },
  };
}
