import { runIndex } from './index-run.js';
import type { Market } from './market.js';
import type { Rulebook } from './parents.js';
import { capByGroup, proportional } from './plain.js';

/** Returns equal weights with at most 30 % per sector. */
const equalWithin = (market: Market, t: number, held: readonly number[]) =>
  capByGroup(
    proportional(held, () => 1),
    (i) => market.text(i, t, 'SECTOR'),
    { cap: 1, groupCap: 0.3 },
  );

/** Returns the median of the existing values; missing if fewer than half exist. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  if (sorted.length < values.length / 2) return NaN;
  return Number.isInteger(half) ? (sorted[half - 1]! + sorted[half]!) / 2 : sorted[Math.floor(half)]!;
}

export const risingDividends: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [1],
    anchor: { day: 'last' },
    dividends: 'total',
    decide(t) {
      const eligible = market
        .listed(t)
        .filter((i) => market.floatCap(i, t) >= 3e9 && medianOf(market.traded(i, t, 63)) >= 5e6);
      const years = new Map(eligible.map((i) => [i, market.yearsOfGrowth(i, t)]));
      const rising = (least: number) => eligible.filter((i) => years.get(i)! >= least);
      return equalWithin(market, t, rising(25).length >= 40 ? rising(25) : rising(20));
    },
    reviews: [
      {
        months: [4, 7, 10],
        anchor: { day: 'last' },
        decide: (t, members) => equalWithin(market, t, [...members!]),
      },
    ],
  }),
});
