import { compareText } from '../refusals/findings.js';
import { reducePurchase, computePayment, computePaidWithout, type Order } from './order.js';
import { createQueue } from './order-queue.js';
import type { Funds } from './lower-purchases.js';

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
export function restoreLots(orders: readonly Order[], { net, cash }: Funds): number {
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

/** Number of bisections of the missing value, after which the digits of a double are exhausted. */
const HALVINGS = 60;

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
