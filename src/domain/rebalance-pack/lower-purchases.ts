import { reducePurchase, computePayment, computePaidWithout, type Order } from './order.js';
import { createQueue } from './order-queue.js';

/** Value and cash of an account from which orders are paid. */
export interface Funds {
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
export function lowerPurchases(orders: readonly Order[], { net, cash }: Funds): number {
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
