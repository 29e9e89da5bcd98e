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
  /** Shares before it. */
  readonly before: number;
  /** Shares that the weight wanted comes to, in whole lots. */
  readonly wanted: number;
  /** Lots of a purchase that are not bought for lack of cash. */
  givenUp: number;
  /** Shares after it. */
  after: number;
}

export function orderCost({ name, before, after }: Order): number {
  return costOf(name, Math.abs(after - before));
}

/** Cash that an order takes, its cost included; negative for what a sale brings. */
export function paid(order: Order): number {
  return (order.after - order.before) * order.name.price + orderCost(order);
}

/** What it takes with so many lots of a purchase given up. */
export function paidWithout(order: Order, lots: number): number {
  return paid({ ...order, after: afterWithout(order, lots) });
}

/** Has so many lots of a purchase given up. @returns the cash that it brings back, less than 0 where lots are bought again */
export function giveUp(order: Order, lots: number): number {
  const before = paid(order);
  order.givenUp = lots;
  order.after = afterWithout(order, lots);
  return before - paid(order);
}

function afterWithout({ name, before, wanted }: Order, lots: number): number {
  return lots === 0 ? wanted : Math.max(before, wanted - lots * name.lot);
}
