import { capInStages } from './cap-rules.js';
import { runIndex } from './index-run.js';
import type { Market } from './market.js';
import { findMonthBefore, THIRD_FRIDAY, type Rulebook } from './parents.js';
import {
  selectBuffered,
  capWeights,
  computeProportional,
  rankSecurities,
  sum,
  type Weights,
} from './plain-functions.js';

/**
 * Selects forty securities. If a constituent ranks below `exit`, a security of rank 47 or better replaces it. A
 * security of rank `entry` or better replaces the lowest-ranked constituent below rank 47.
 */
function selectForty(order: readonly number[], members: ReadonlySet<number> | null, { entry = 0, exit = 0 }): number[] {
  if (members === null) return order.slice(0, 40);
  const rank = new Map(order.map((i, k) => [i, k + 1]));
  const selectedSecurities = new Set(order.filter((i) => members.has(i)));
  const findWorst = () => order.findLast((i) => selectedSecurities.has(i))!;
  const listOthers = () => order.filter((i) => !selectedSecurities.has(i));
  while (selectedSecurities.size < 40) selectedSecurities.add(listOthers()[0]!); // a delisting leaves fewer than forty
  for (const candidate of listOthers()) {
    const leavingSecurity = findWorst();
    if (rank.get(candidate)! > entry || rank.get(leavingSecurity)! <= 47) break;
    selectedSecurities.delete(leavingSecurity);
    selectedSecurities.add(candidate);
  }
  for (const candidate of listOthers()) {
    const leavingSecurity = findWorst();
    if (rank.get(candidate)! > 47 || rank.get(leavingSecurity)! <= exit) break;
    selectedSecurities.delete(leavingSecurity);
    selectedSecurities.add(candidate);
  }
  return order.filter((i) => selectedSecurities.has(i));
}

export const runLeaders40: Rulebook = (market, baseDate) => {
  const review = (months: readonly number[], limits: { readonly entry: number; readonly exit: number }) => ({
    months,
    anchor: THIRD_FRIDAY,
    reference: findMonthBefore,
    decide(t: number, members: ReadonlySet<number> | null): Weights {
      const computeFloatCap = (i: number) => market.floatCap(i, t);
      return capWeights(
        computeProportional(
          selectForty(rankSecurities(market.listed(t), computeFloatCap), members, limits),
          computeFloatCap,
        ),
        0.15,
      );
    },
  });
  return {
    '': runIndex(market, baseDate, {
      ...review([3, 9], { entry: 40, exit: 53 }),
      dividends: 'total',
      reviews: [review([6, 12], { entry: 33, exit: 60 })],
    }),
  };
};

const weightByCap = (market: Market, t: number, securities: readonly number[]): Weights =>
  computeProportional(securities, (i) => market.cap(i, t));

export const runGrowth100: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [12],
    anchor: THIRD_FRIDAY,
    reference: findMonthBefore,
    decide(t, members) {
      const nonFinancials = market.listed(t).filter((i) => market.text(i, t, 'SECTOR') !== 'Financials');
      const order = rankSecurities(nonFinancials, (i) => market.cap(i, t));
      return capInStages(weightByCap(market, t, selectBuffered(order, members, { count: 100, enter: 75, exit: 125 })), {
        single: { above: 0.15, to: 0.14 },
        group: { above: 0.045, together: 0.4, to: 0.385 },
      });
    },
    reviews: [
      {
        months: [3, 6, 9],
        anchor: THIRD_FRIDAY,
        reference: findMonthBefore,
        decide: (t, members) =>
          capInStages(weightByCap(market, t, [...members!]), {
            single: { above: 0.24, to: 0.2 },
            group: { above: 0.045, together: 0.48, to: 0.4 },
          }),
      },
    ],
  }),
});

/** Sets weights of float capitalisation with a cap, also at each close between reviews at which one exceeds a limit. */
export const runTwentyCapped: Rulebook = (market, baseDate) => {
  const cap = (t: number, securities: readonly number[]): Weights =>
    capWeights(
      computeProportional(securities, (i) => market.floatCap(i, t)),
      0.18,
    );
  const computeTraded = (i: number, t: number): number => {
    const known = market.traded(i, t, 252).filter((value) => !Number.isNaN(value));
    return known.length < 126 ? NaN : sum(known) / known.length;
  };
  return {
    '': runIndex(market, baseDate, {
      months: [9],
      anchor: THIRD_FRIDAY,
      decide(t, members) {
        const all = market.listed(t);
        const caps = all.map((i) => market.floatCap(i, t));
        const traded = all.map((i) => computeTraded(i, t));
        const [allCaps, allTraded] = [caps, traded].map((values) =>
          sum(values.filter((value) => !Number.isNaN(value))),
        );
        const rank = new Map(all.map((i, k) => [i, caps[k]! / allCaps! + traded[k]! / allTraded!]));
        const order = rankSecurities(all, (i) => rank.get(i)!);
        return cap(t, selectBuffered(order, members, { count: 20, enter: 18, exit: 22 }));
      },
      reviews: [{ months: [3, 6, 12], anchor: THIRD_FRIDAY, decide: (t, members) => cap(t, [...members!]) }],
      between(t, shares) {
        const values = [...shares].map(([i, count]) => count * market.price(i, t));
        if (Math.max(...values) / sum(values) <= 0.2 + 1e-12) return undefined;
        return new Map([...cap(t, [...shares.keys()])].map(([i, weight]) => [i, weight / market.price(i, t)]));
      },
    }),
  };
};
