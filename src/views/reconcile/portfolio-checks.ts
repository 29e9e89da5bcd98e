import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { RunRecord } from '#domain/backtest/record/schema.js';
import { createCheck, createFurthest, type Check } from './check.js';

/** Checks the positions, cash, trades and costs of the portfolio. */
export function checkPortfolio(columns: RunColumns, { portfolio }: RunRecord): Check[] {
  const { value, initialCapital } = portfolio;
  const costs = columns.f64('costs');
  return [
    createCheck({
      name: 'initial capital',
      meaning: 'The portfolio starts with its initial capital minus the costs of the first purchase.',
      left: value[0]! + costs[0]!,
      right: initialCapital,
    }),
    ...checkPositions(portfolio),
    ...checkCosts(costs, portfolio),
  ];
}

/**
 * Checks the reported positions. Only the latest positions are reported, and the first reported date may be incomplete.
 */
function checkPositions({ positions, value, cash }: RunRecord['portfolio']): Check[] {
  const { at, units, price, value: marketValues, weight, total } = positions;
  if (at.length === 0) return [];
  const products = createFurthest();
  const shares = createFurthest();
  const sums = new Map<number, number>();
  for (let i = 0; i < at.length; i++) {
    const nav = value[at[i]!]!;
    products.note((units[i]! * price[i]!) / nav, marketValues[i]! / nav);
    shares.note(marketValues[i]! / nav, weight[i]!);
    sums.set(at[i]!, (sums.get(at[i]!) ?? 0) + marketValues[i]!);
  }
  if (total > at.length) sums.delete(at[0]!);
  const navs = createFurthest();
  for (const [t, sum] of sums) navs.note(sum / value[t]! + cash[t]!, 1);
  return [
    createCheck({
      name: 'positions: value',
      meaning:
        'Units times price equals the value of a position, as a fraction of the net asset value; the sides are those of the position with the largest difference.',
      ...products.sides(),
    }),
    createCheck({
      name: 'positions: weight',
      meaning:
        'The value of a position divided by the net asset value equals its weight; the sides are those of the position with the largest difference.',
      ...shares.sides(),
    }),
    ...(sums.size === 0
      ? []
      : [
          createCheck({
            name: 'net asset value',
            meaning:
              'Positions and cash of a date sum to its net asset value; the left side is the fraction with the largest difference from 1.',
            ...navs.sides(),
          }),
        ]),
  ];
}

/**
 * Checks the transaction costs. They are not checked if the table of transactions is incomplete, because it cannot be
 * summed.
 */
function checkCosts(costs: Float64Array, { transactions, costRate, initialCapital }: RunRecord['portfolio']): Check[] {
  const { notional, isFree, total } = transactions;
  if (total > notional.length) return [];
  let paidCosts = 0;
  for (let i = 0; i < notional.length; i++) if (isFree[i] === 0) paidCosts += costRate * Math.abs(notional[i]!);
  const recordedCosts = costs.reduce((sum, cost) => sum + cost, 0);
  return [
    createCheck({
      name: 'transaction costs',
      meaning: 'The costs of all trades equal the costs of the run, as fractions of the initial capital.',
      left: paidCosts / initialCapital,
      right: recordedCosts / initialCapital,
    }),
  ];
}
