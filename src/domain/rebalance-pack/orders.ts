import { givenBack } from './given-back.js';
import { lowered } from './lowered.js';
import { orderCost, type Order, type PackName } from './order.js';
import { costOf } from './trade-costs.js';

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
 * that were rounded up first. Lots given up that the cash left then pays for are bought again.
 * @param held shares by position of the names, [n]
 */
export function ordersOf(names: readonly PackName[], held: Float64Array, cash: number): FilledAccount {
  const value = names.reduce((sum, { price }, i) => sum + held[i]! * price, cash);
  const net = netValue(names, held, value);
  const orders = names.map((name, i): Order => {
    const lots = roundHalfEven((name.weight * net) / (name.price * name.lot));
    const wanted = name.weight === 0 ? 0 : lots * name.lot;
    return { name, before: held[i]!, wanted, givenUp: 0, after: wanted };
  });
  const left = givenBack(orders, { net, cash: lowered(orders, { net, cash }) });
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
