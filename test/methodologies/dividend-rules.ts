import { runIndex } from './index-run.js';
import type { Market } from './market.js';
import type { Rulebook } from './parents.js';
import { capByGroup, computeProportional } from './plain-functions.js';

/** Returns equal weights with at most 30 % per sector. */
const weightEquallyWithin = (market: Market, t: number, securities: readonly number[]) =>
  capByGroup(
    computeProportional(securities, () => 1),
    (i) => market.text(i, t, 'SECTOR'),
    { cap: 1, groupCap: 0.3 },
  );

/** Returns the median of the values that exist. Returns NaN if fewer than half exist. */
export function computeMedian(values: readonly number[]): number {
  const sortedValues = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b);
  const half = sortedValues.length / 2;
  if (sortedValues.length < values.length / 2) return NaN;
  return Number.isInteger(half) ? (sortedValues[half - 1]! + sortedValues[half]!) / 2 : sortedValues[Math.floor(half)]!;
}

export const runRisingDividends: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [1],
    anchor: { day: 'last' },
    dividends: 'total',
    decide(t) {
      const eligible = market
        .listed(t)
        .filter((i) => market.floatCap(i, t) >= 3e9 && computeMedian(market.traded(i, t, 63)) >= 5e6);
      const years = new Map(eligible.map((i) => [i, market.countYearsOfGrowth(i, t)]));
      const listRising = (yearsMin: number) => eligible.filter((i) => years.get(i)! >= yearsMin);
      return weightEquallyWithin(market, t, listRising(25).length >= 40 ? listRising(25) : listRising(20));
    },
    reviews: [
      {
        months: [4, 7, 10],
        anchor: { day: 'last' },
        decide: (t, members) => weightEquallyWithin(market, t, [...members!]),
      },
    ],
  }),
});
