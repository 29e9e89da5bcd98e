import { computeTradeCost, type TradeTerms } from './trade-costs.js';

/** Security in an order. */
export interface PackSecurity extends TradeTerms {
  readonly identifier: string;
  /** Target weight; 0 for a security that leaves. */
  readonly weight: number;
  /** Lot size: orders are multiples of it. */
  readonly lot: number;
}

export interface Order {
  readonly name: PackSecurity;
  /** Shares before the order. */
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
export function computePayment(order: Order): number {
  return (order.after - order.before) * order.name.price + computeOrderCost(order);
}

/** Returns the cash for an order if a number of lots of a purchase is given up. */
export function computePaidWithout(order: Order, lots: number): number {
  return computePayment({ ...order, after: computeSharesWithout(order, lots) });
}

/** Gives up a number of lots of a purchase. @returns the recovered cash, negative if lots are bought again */
export function reducePurchase(order: Order, lots: number): number {
  const before = computePayment(order);
  order.givenUp = lots;
  order.after = computeSharesWithout(order, lots);
  return before - computePayment(order);
}

function computeSharesWithout({ name, before, wanted }: Order, lots: number): number {
  return lots === 0 ? wanted : Math.max(before, wanted - lots * name.lot);
}
