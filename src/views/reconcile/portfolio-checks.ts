import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { RunRecord } from '#domain/backtest/record/schema.js';
import { check, furthest, type Check } from './check.js';

/** Checks the positions, cash, trades and costs of the portfolio. */
export function portfolioChecks(columns: RunColumns, { portfolio }: RunRecord): Check[] {
  const { value, initialCapital } = portfolio;
  const costs = columns.f64('costs');
  return [
    check({
      name: 'initial capital',
      meaning: 'The portfolio begins with its initial capital, less what buying it cost.',
      left: value[0]! + costs[0]!,
      right: initialCapital,
    }),
    ...positionChecks(portfolio),
    ...costChecks(costs, portfolio),
  ];
}

/**
 * Checks the reported positions. Only the most recent positions are reported, and those of the first reported date may
 * be incomplete.
 */
function positionChecks({ positions, value, cash }: RunRecord['portfolio']): Check[] {
  const { at, units, price, value: worth, weight, total } = positions;
  if (at.length === 0) return [];
  const products = furthest();
  const shares = furthest();
  const sums = new Map<number, number>();
  for (let i = 0; i < at.length; i++) {
    const nav = value[at[i]!]!;
    products.note((units[i]! * price[i]!) / nav, worth[i]! / nav);
    shares.note(worth[i]! / nav, weight[i]!);
    sums.set(at[i]!, (sums.get(at[i]!) ?? 0) + worth[i]!);
  }
  if (total > at.length) sums.delete(at[0]!);
  const navs = furthest();
  for (const [t, sum] of sums) navs.note(sum / value[t]! + cash[t]!, 1);
  return [
    check({
      name: 'positions: value',
      meaning:
        'Units times price is the value of a position, as a fraction of all; the sides are of the one furthest from it.',
      ...products.sides(),
    }),
    check({
      name: 'positions: weight',
      meaning: 'The value of a position is its weight of all; the sides are of the one furthest from it.',
      ...shares.sides(),
    }),
    ...(sums.size === 0
      ? []
      : [
          check({
            name: 'net asset value',
            meaning:
              'Positions and cash of a date are its net asset value; the left side is the fraction furthest from it.',
            ...navs.sides(),
          }),
        ]),
  ];
}

/** Checks the transaction costs. An incomplete table of transactions cannot be summed and is not checked. */
function costChecks(costs: Float64Array, { transactions, costRate, initialCapital }: RunRecord['portfolio']): Check[] {
  const { notional, isFree, total } = transactions;
  if (total > notional.length) return [];
  let paid = 0;
  for (let i = 0; i < notional.length; i++) if (isFree[i] === 0) paid += costRate * Math.abs(notional[i]!);
  const recorded = costs.reduce((sum, cost) => sum + cost, 0);
  return [
    check({
      name: 'transaction costs',
      meaning: 'The costs of all trades are the costs of the run, as fractions of the initial capital.',
      left: paid / initialCapital,
      right: recorded / initialCapital,
    }),
  ];
}
