import { compareText } from '../base/findings.js';

/** Inputs of the cost and duration of a trade. */
interface TradeTerms {
  /** Price in the currency of the account. */
  readonly price: number;
  /** Mean daily volume in shares. Null if it is unknown; the impact is then zero. */
  readonly adv: number | null;
  readonly spreadBps: number;
  readonly impactBps: number;
}

/**
 * Returns the cost of a trade: half the spread plus the impact, both as fractions of the traded value. The impact grows
 * with the square root of the traded fraction of a day's volume.
 */
function computeTradeCost({ price, adv, spreadBps, impactBps }: TradeTerms, shares: number): number {
  if (shares === 0) return 0;
  const impact = adv === null ? 0 : impactBps * Math.sqrt(shares / adv);
  return (shares * price * (spreadBps / 2 + impact)) / 10_000;
}

export interface PackSecurity extends TradeTerms {
  readonly identifier: string;
  /** Target weight; 0 for a security that leaves. */
  readonly weight: number;
  /** Lot size: orders are multiples of it. */
  readonly lot: number;
}

export interface Order {
  readonly name: PackSecurity;
  readonly before: number;
  /** Target number of shares, in whole lots. */
  readonly wanted: number;
  /** Number of lots of a purchase that are not bought for lack of cash. */
  givenUp: number;
  /** Shares after the order. */
  after: number;
}

export function computeOrderCost({ name, before, after }: Order): number {
  return computeTradeCost(name, Math.abs(after - before));
}

/** Returns the cash for an order, including its cost; negative for proceeds of a sale. */
function computePayment(order: Order): number {
  return (order.after - order.before) * order.name.price + computeOrderCost(order);
}

/** Returns the cash for an order if a number of lots of a purchase is given up. */
function computePaidWithout(order: Order, lots: number): number {
  return computePayment({ ...order, after: computeSharesWithout(order, lots) });
}

/** Gives up a number of lots of a purchase. @returns the recovered cash, negative if lots are bought again */
function reducePurchase(order: Order, lots: number): number {
  const before = computePayment(order);
  order.givenUp = lots;
  order.after = computeSharesWithout(order, lots);
  return before - computePayment(order);
}

function computeSharesWithout({ name, before, wanted }: Order, lots: number): number {
  return lots === 0 ? wanted : Math.max(before, wanted - lots * name.lot);
}

export interface OrderQueue {
  first(): Order | undefined;
  /** Moves the first order to its new, later position; removes it if it is finished. */
  settle(isOver: boolean): void;
}

/** Creates a binary heap. Equal orders keep their sequence. @cost O(n log n), then O(log n) per change */
function createQueue(orders: readonly Order[], comesBefore: (one: Order, other: Order) => boolean): OrderQueue {
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

/** Value and cash of an account from which orders are paid. */
interface Funds {
  /** Value of the account after costs. */
  readonly net: number;
  readonly cash: number;
}

/**
 * Reduces purchases lot by lot until cash is not negative. First removes one lot each from purchases that were rounded
 * up, smallest relative change first. Then removes further lots, smallest total change first.
 * @returns the resulting cash
 * @cost O((n + removed lots) log n); beyond rounding, only the last n lots are removed singly
 */
function lowerPurchases(orders: readonly Order[], { net, cash }: Funds): number {
  const left = orders.reduce((sum, order) => sum - computePayment(order), cash);
  if (left >= 0) return left;
  const purchases = orders.filter(({ before, after }) => after > before);
  const isRoundedUp = ({ name, after }: Order) => after > (name.weight * net) / name.price;
  const roundedPurchases = purchases
    .filter(isRoundedUp)
    .toSorted((a, b) => computeForgoneShare(a) - computeForgoneShare(b));
  let remainder = left;
  for (const order of roundedPurchases) {
    if (remainder >= 0) return remainder;
    remainder += reducePurchase(order, 1);
  }
  remainder += reduceAlike(purchases, remainder);
  const queue = createQueue(
    purchases.filter(({ before, after }) => after > before),
    (order, otherOrder) => computeForgoneShare(order) < computeForgoneShare(otherOrder),
  );
  for (let order = queue.first(); remainder < 0 && order !== undefined; order = queue.first()) {
    remainder += reducePurchase(order, order.givenUp + 1);
    queue.settle(order.after <= order.before);
  }
  return remainder;
}

/** Returns the fraction of an order that is given up if one more lot is removed. */
function computeForgoneShare({ name, before, wanted, after }: Order): number {
  const purchase = wanted - before;
  return (purchase - (after - before) + name.lot) / purchase;
}

/** Number of bisections of a fraction, after which the digits of a double are exhausted. */
const HALVINGS = 60;

/**
 * Reduces all purchases by the largest common fraction that is certainly not too large, in whole lots. The result
 * equals removing single lots, but needs no queue of millions.
 * @returns the recovered cash, which does not suffice by itself
 */
function reduceAlike(purchases: readonly Order[], cash: number): number {
  if (cash >= 0) return 0;
  const countLots = ({ name, before, wanted, givenUp }: Order, share: number): number =>
    Math.max(givenUp, Math.floor((share * (wanted - before)) / name.lot));
  const computeRecovered = (share: number): number =>
    purchases.reduce(
      (sum, order) => sum + computePayment(order) - computePaidWithout(order, countLots(order, share)),
      0,
    );
  let [enough, short] = [1, 0];
  for (let n = 0; n < HALVINGS; n++) {
    const middle = (enough + short) / 2;
    if (cash + computeRecovered(middle) < 0) short = middle;
    else enough = middle;
  }
  return purchases.reduce((sum, order) => sum + reducePurchase(order, countLots(order, short)), 0);
}

/**
 * Mean number of lots per security that are bought one at a time. If there are more, the affordable number is computed
 * directly.
 */
const LOTS_BOUGHT_SINGLY = 8;

/**
 * Buys removed lots again, one at a time, while the remaining cash pays for a lot and its cost. Always chooses the
 * security with the largest missing value, ties by identifier. If the next lot of a security is too expensive, the
 * security is skipped. Cash only falls, and its later lots cost no less.
 * @returns the remaining cash, less than the price of any removed lot
 * @cost O(n log n) per round; more than one round only if many lots are smaller than a lot that was too expensive
 */
function restoreLots(orders: readonly Order[], { net, cash }: Funds): number {
  const byName = orders
    .filter(({ givenUp }) => givenUp > 0)
    .toSorted((order, otherOrder) => compareText(order.name.identifier, otherOrder.name.identifier));
  let remainingCash = cash;
  for (;;) {
    const openOrders = byName.filter((order) => order.givenUp > 0 && computeNextLot(order) <= remainingCash);
    if (openOrders.length === 0) return remainingCash;
    remainingCash += buyAlike(openOrders, { net, cash: remainingCash });
    remainingCash = buyInTurn(openOrders, { net, cash: remainingCash });
  }
}

/** Returns the cash for the next lot, including costs. */
const computeNextLot = (order: Order): number => computePaidWithout(order, order.givenUp - 1) - computePayment(order);

/** Returns the value that an order lacks to its target. */
const computeMissingValue = ({ name, after }: Order, net: number): number => name.weight * net - after * name.price;

/** Buys lots one at a time. @returns the remaining cash */
function buyInTurn(open: readonly Order[], { net, cash }: Funds): number {
  const queue = createQueue(
    open,
    (order, otherOrder) => computeMissingValue(order, net) > computeMissingValue(otherOrder, net),
  );
  let remainingCash = cash;
  let lots = LOTS_BOUGHT_SINGLY * open.length;
  for (let order = queue.first(); order !== undefined && lots > 0; order = queue.first()) {
    const fits = order.givenUp > 0 && computeNextLot(order) <= remainingCash;
    if (fits) {
      remainingCash += reducePurchase(order, order.givenUp - 1);
      lots--;
    }
    queue.settle(!fits || order.givenUp === 0);
  }
  return remainingCash;
}

/**
 * Buys the lots of all orders whose missing value exceeds a threshold. The threshold is the smallest one for which the
 * cash suffices. The result equals buying single lots as long as each is affordable.
 * @returns the change of cash, negative
 */
function buyAlike(open: readonly Order[], { net, cash }: Funds): number {
  /** Returns the number of lots still given up if an order is bought while its missing value exceeds a threshold. */
  const countLots = (order: Order, value: number): number => {
    const { name, wanted, givenUp } = order;
    if (computeMissingValue(order, net) <= value) return givenUp;
    // The count starts from the target shares, which are whole lots. Held shares may include a fraction.
    const largestCount = Math.floor((wanted - (name.weight * net - value) / name.price) / name.lot);
    return Math.min(Math.max(largestCount, 0), givenUp - 1);
  };
  const sumTaken = (value: number): number =>
    open.reduce((sum, order) => sum + computePaidWithout(order, countLots(order, value)) - computePayment(order), 0);
  let upperValue = Math.max(...open.map((order) => computeMissingValue(order, net)));
  let lowerValue = Math.min(
    ...open.map((order) => computeMissingValue(order, net) - order.givenUp * order.name.price * order.name.lot),
  );
  if (sumTaken(lowerValue) <= cash) upperValue = lowerValue;
  for (let n = 0; n < HALVINGS && upperValue !== lowerValue; n++) {
    const middle = (upperValue + lowerValue) / 2;
    if (sumTaken(middle) <= cash) upperValue = middle;
    else lowerValue = middle;
  }
  return open.reduce((sum, order) => sum + reducePurchase(order, countLots(order, upperValue)), 0);
}

export interface FilledAccount {
  /** Value of the account before the trades. */
  readonly value: number;
  /** Cash after the trades. */
  readonly cash: number;
  readonly cost: number;
  /** Half the traded value divided by the value of the account. */
  readonly turnover: number;
  /** Orders of the securities whose number of shares changes. */
  readonly orders: readonly Order[];
  /** True if cash stays negative when all purchases are cancelled. */
  readonly isShort: boolean;
}

/**
 * Returns the orders that bring an account to its target weights, relative to the value after costs. The shares are
 * lots times the half-even rounding of weight * net value / (price * lot). If cash is insufficient, purchases are
 * reduced lot by lot, first those that were rounded up. Removed lots are bought again as far as the remaining cash
 * permits.
 * @param heldShares shares by position of the securities, [n]
 */
export function createOrders(names: readonly PackSecurity[], heldShares: Float64Array, cash: number): FilledAccount {
  const value = names.reduce((sum, { price }, i) => sum + heldShares[i]! * price, cash);
  const net = computeNetValue(names, heldShares, value);
  const orders = names.map((name, i): Order => {
    const lots = roundHalfEven((name.weight * net) / (name.price * name.lot));
    const targetShares = name.weight === 0 ? 0 : lots * name.lot;
    return { name, before: heldShares[i]!, wanted: targetShares, givenUp: 0, after: targetShares };
  });
  const left = restoreLots(orders, { net, cash: lowerPurchases(orders, { net, cash }) });
  const cost = orders.reduce((sum, order) => sum + computeOrderCost(order), 0);
  const tradedValue = orders.reduce((sum, { name, before, after }) => sum + Math.abs(after - before) * name.price, 0);
  return {
    value,
    cash: left,
    cost,
    turnover: value === 0 ? 0 : tradedValue / 2 / value,
    orders: orders.filter(({ before, after }) => before !== after),
    isShort: left < 0,
  };
}

/**
 * Returns the value of an account after the costs of its trades in fractional shares. This value plus the costs equals
 * the value before. If costs exceed the value before, returns the value before.
 * @cost O(n)
 */
function computeNetValue(names: readonly PackSecurity[], heldShares: Float64Array, value: number): number {
  const computeCostAt = (net: number): number =>
    names.reduce(
      (sum, name, i) => sum + computeTradeCost(name, Math.abs((name.weight * net) / name.price - heldShares[i]!)),
      0,
    );
  if (computeCostAt(value) === 0 || computeCostAt(0) >= value) return value;
  let [below, above] = [0, value];
  for (let n = 0; n < HALVINGS; n++) {
    const middle = (below + above) / 2;
    if (middle + computeCostAt(middle) <= value) below = middle;
    else above = middle;
  }
  return below;
}

/** Rounds to the nearest integer, halves to even. */
export function roundHalfEven(value: number): number {
  const lowerInteger = Math.floor(value);
  const remainder = value - lowerInteger;
  if (remainder !== 0.5) return Math.round(value);
  return lowerInteger % 2 === 0 ? lowerInteger : lowerInteger + 1;
}
