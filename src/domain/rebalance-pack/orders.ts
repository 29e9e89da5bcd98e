import { costOf, type TradeTerms } from './trade-costs.js';

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

/**
 * The orders that bring an account to the weights wanted, of what is left behind their costs: lots times the half-even
 * rounding of weight * net value / (price * lot). Where cash does not suffice, purchases are lowered lot by lot: those
 * that were rounded up first.
 * @param held shares by position of the names, [n]
 */
export function ordersOf(names: readonly PackName[], held: Float64Array, cash: number): FilledAccount {
  const value = names.reduce((sum, { price }, i) => sum + held[i]! * price, cash);
  const net = netValue(names, held, value);
  const orders = names.map((name, i): Order => {
    const lots = roundHalfEven((name.weight * net) / (name.price * name.lot));
    return { name, before: held[i]!, after: name.weight === 0 ? 0 : lots * name.lot };
  });
  const left = lowered(orders, { net, cash });
  const cost = orders.reduce((sum, order) => sum + orderCost(order), 0);
  const traded = orders.reduce((sum, { name, before, after }) => sum + Math.abs(after - before) * name.price, 0);
  return {
    value,
    cash: left,
    cost,
    turnover: value === 0 ? 0 : traded / 2 / value,
    orders: orders.filter(({ before, after }) => before !== after),
    isShort: left < 0,
  };
}

/** Halvings of the value, after which it has no further digits. */
const HALVINGS = 60;

/**
 * What an account is worth behind the costs of its trades in fractions of shares: that at the weights wanted of which
 * it and the costs are the value before. The value itself where costs take all of it.
 * @cost O(n)
 */
function netValue(names: readonly PackName[], held: Float64Array, value: number): number {
  const costAt = (net: number): number =>
    names.reduce((sum, name, i) => sum + costOf(name, Math.abs((name.weight * net) / name.price - held[i]!)), 0);
  if (costAt(value) === 0 || costAt(0) >= value) return value;
  let [below, above] = [0, value];
  for (let n = 0; n < HALVINGS; n++) {
    const middle = (below + above) / 2;
    if (middle + costAt(middle) <= value) below = middle;
    else above = middle;
  }
  return below;
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

interface Funds {
  /** Value behind the costs. */
  readonly net: number;
  readonly cash: number;
}

/**
 * Lowers purchases lot by lot until cash is not negative any more: those that were rounded up by one lot each, that
 * which changes least in proportion to its order first; then any, that first of which the whole change is the least.
 * @returns the cash then
 * @cost O((n + lots given up) log n), of those given up beyond the rounding the last n
 */
function lowered(orders: readonly Order[], { net, cash }: Funds): number {
  const left = orders.reduce((sum, order) => sum - paid(order), cash);
  if (left >= 0) return left;
  const purchases = orders.filter(({ before, after }) => after > before);
  const whole = new Map(purchases.map(({ name, before, after }) => [name, after - before]));
  const shareOf = ({ name, before, after }: Order) =>
    (whole.get(name)! - (after - before) + name.lot) / whole.get(name)!;
  const isRoundedUp = ({ name, after }: Order) => after > (name.weight * net) / name.price;
  const rounded = purchases.filter(isRoundedUp).toSorted((a, b) => shareOf(a) - shareOf(b));
  let rest = left;
  for (const order of rounded) {
    if (rest >= 0) return rest;
    rest += giveUp(order, 1);
  }
  rest += giveUpAlike(purchases, whole, rest);
  const queue = leastFirst(purchases, shareOf);
  for (let order = queue.first(); rest < 0 && order !== undefined; order = queue.first()) {
    rest += giveUp(order, 1);
    queue.settle();
  }
  return rest;
}

/** Lowers a purchase by some lots, at most to what is held. @returns the cash that it gives back */
function giveUp(order: Order, lots: number): number {
  const before = paid(order);
  order.after = Math.max(order.before, order.after - lots * order.name.lot);
  return before - paid(order);
}

/**
 * Lowers all purchases by the largest share of their orders that is certainly not too much, in whole lots: what giving
 * up one lot after the other comes to, without a queue of millions.
 * @returns the cash that they give back, not enough alone
 */
function giveUpAlike(purchases: readonly Order[], whole: ReadonlyMap<PackName, number>, cash: number): number {
  if (cash >= 0) return 0;
  const lowest = ({ name, before, after }: Order, share: number): number => {
    const first = before + whole.get(name)!;
    return Math.max(before, Math.min(after, first - Math.floor((share * whole.get(name)!) / name.lot) * name.lot));
  };
  const back = (share: number): number =>
    purchases.reduce((sum, order) => sum + paid(order) - paid({ ...order, after: lowest(order, share) }), 0);
  let [enough, short] = [1, 0];
  for (let n = 0; n < HALVINGS; n++) {
    const middle = (enough + short) / 2;
    if (cash + back(middle) < 0) short = middle;
    else enough = middle;
  }
  const given = back(short);
  for (const order of purchases) order.after = lowest(order, short);
  return given;
}

interface OrderQueue {
  first(): Order | undefined;
  /** Finds the place of the first, whose key grew; one without any shares left leaves. */
  settle(): void;
}

/** A binary heap; of equal keys the earlier name is first. */
function leastFirst(orders: readonly Order[], keyOf: (order: Order) => number): OrderQueue {
  const place = new Map(orders.map((order, i) => [order, i]));
  const isBefore = (a: Order, b: Order) =>
    keyOf(a) < keyOf(b) || (keyOf(a) === keyOf(b) && place.get(a)! < place.get(b)!);
  const heap = orders.filter(({ before, after }) => after > before).toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
  return {
    first: () => heap[0],
    settle() {
      if (heap[0]!.after <= heap[0]!.before) {
        const last = heap.pop()!;
        if (heap.length === 0) return;
        if (last !== heap[0]) heap[0] = last;
      }
      for (let at = 0; ;) {
        let least = at;
        for (const child of [2 * at + 1, 2 * at + 2])
          if (child < heap.length && isBefore(heap[child]!, heap[least]!)) least = child;
        if (least === at) return;
        [heap[at], heap[least]] = [heap[least]!, heap[at]!];
        at = least;
      }
    },
  };
}
