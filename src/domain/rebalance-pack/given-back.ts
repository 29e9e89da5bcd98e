import { compareText } from '../refusals/findings.js';
import { giveUp, paid, paidWithout, type Order } from './order.js';
import { queueOf } from './order-queue.js';
import type { Funds } from './lowered.js';

/** Lots of a name, on average, that are bought one after the other before it is seen how many more fit at once. */
const LOTS_IN_TURN = 8;

/**
 * Buys lots that were given up again, one after the other, as long as the cash left pays for them and their cost: always
 * one of the name that lacks most of its value wanted, of those that lack as much the first by identifier. A name whose
 * next lot is too much is left as it is: cash only falls, and a lot of the same name costs no less later.
 * @returns the cash that is left, which pays for none of the lots still given up
 * @cost O(n log n) a round, of which there is more than one where many lots are smaller than one that was too much
 */
export function givenBack(orders: readonly Order[], { net, cash }: Funds): number {
  const byName = orders
    .filter(({ givenUp }) => givenUp > 0)
    .toSorted((one, other) => compareText(one.name.identifier, other.name.identifier));
  let rest = cash;
  for (;;) {
    const open = byName.filter((order) => order.givenUp > 0 && nextLot(order) <= rest);
    if (open.length === 0) return rest;
    rest += buyAlike(open, { net, cash: rest });
    rest = buyInTurn(open, { net, cash: rest });
  }
}

/** Cash that the next lot takes, with its cost. */
const nextLot = (order: Order): number => paidWithout(order, order.givenUp - 1) - paid(order);

/** Value that an order leaves wanting. */
const lack = ({ name, after }: Order, net: number): number => name.weight * net - after * name.price;

/** @returns the cash that is left */
function buyInTurn(open: readonly Order[], { net, cash }: Funds): number {
  const queue = queueOf(open, (one, other) => lack(one, net) > lack(other, net));
  let rest = cash;
  let lots = LOTS_IN_TURN * open.length;
  for (let order = queue.first(); order !== undefined && lots > 0; order = queue.first()) {
    const fits = order.givenUp > 0 && nextLot(order) <= rest;
    if (fits) {
      rest += giveUp(order, order.givenUp - 1);
      lots--;
    }
    queue.settle(!fits || order.givenUp === 0);
  }
  return rest;
}

/** Halvings of what orders lack, after which it has no further digits. */
const HALVINGS = 60;

/**
 * Buys of all orders the lots by which they lack more than a certain value, the least that cash pays for: what buying one
 * lot after the other comes to as long as each fits.
 * @returns the cash that it brings, less than 0
 */
function buyAlike(open: readonly Order[], { net, cash }: Funds): number {
  /** Lots still given up where an order buys as long as it lacks more than a value. */
  const lotsAt = (order: Order, value: number): number => {
    const { name, wanted, givenUp } = order;
    if (lack(order, net) <= value) return givenUp;
    // Counted from the shares wanted, which are whole lots: those held need not be.
    const most = Math.floor((wanted - (name.weight * net - value) / name.price) / name.lot);
    return Math.min(Math.max(most, 0), givenUp - 1);
  };
  const taken = (value: number): number =>
    open.reduce((sum, order) => sum + paidWithout(order, lotsAt(order, value)) - paid(order), 0);
  let few = Math.max(...open.map((order) => lack(order, net)));
  let many = Math.min(...open.map((order) => lack(order, net) - order.givenUp * order.name.price * order.name.lot));
  if (taken(many) <= cash) few = many;
  for (let n = 0; n < HALVINGS && few !== many; n++) {
    const middle = (few + many) / 2;
    if (taken(middle) <= cash) few = middle;
    else many = middle;
  }
  return open.reduce((sum, order) => sum + giveUp(order, lotsAt(order, few)), 0);
}
