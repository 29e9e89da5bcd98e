import { restoreLots } from './restore-lots.js';
import { lowerPurchases } from './lower-purchases.js';
import { computeOrderCost, type Order, type PackSecurity } from './order.js';
import { computeTradeCost } from './trade-costs.js';

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

/** Number of bisections of the value, after which the digits of a double are exhausted. */
const HALVINGS = 60;

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
