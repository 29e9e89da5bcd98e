import { findNthWeekday, runIndex } from './index-run.js';
import {
  type Rulebook,
  QUARTERLY,
  THIRD_FRIDAY,
  LAST_FRIDAY,
  EVERY_QUARTER,
  weightLargest,
  runOnParent,
} from './parents.js';
import {
  selectBuffered,
  capWeights,
  selectCoverage,
  computeMean,
  listPercentiles,
  computeProportional,
  rankSecurities,
  sum,
} from './plain-functions.js';

export const runCommittee: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    decide: (t) => computeProportional(market.members('COMMITTEE', t), (i) => market.floatCap(i, t)),
  }),
});

export const runEqualWeight: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    reference: (dates, t) => {
      const secondFriday = findNthWeekday(dates[t]!.slice(0, 7), { weekday: 5, nth: 2 });
      return dates.findLastIndex((date) => date <= secondFriday);
    },
    decide: (t) => computeProportional(market.members('COMMITTEE', t), () => 1),
  }),
});

export const createBestInClass =
  (count: number): Rulebook =>
  (market, baseDate) =>
    runOnParent({
      market,
      baseDate,
      count,
      schedule: { months: [5], anchor: THIRD_FRIDAY },
      decide(parent, t, members) {
        const computeFloatCap = (i: number) => market.floatCap(i, t);
        const eligible = parent.filter(
          (i) => market.fact(i, t, 'CONTROVERSY_SCORE') >= (members?.has(i) === true ? 1 : 3),
        );
        const total = sum(eligible.map(computeFloatCap));
        const computeRating = (i: number) => market.fact(i, t, 'ESG_RATING') + computeFloatCap(i) / total;
        const sectors = new Set(eligible.map((i) => market.text(i, t, 'SECTOR')));
        const securities = [...sectors].flatMap((sector) =>
          selectCoverage(
            rankSecurities(
              eligible.filter((i) => market.text(i, t, 'SECTOR') === sector),
              computeRating,
            ),
            computeFloatCap,
            members,
            { lower: 0.35, upper: 0.65, target: 0.5 },
          ),
        );
        return computeProportional(securities, computeFloatCap);
      },
    });

export const createSizeSegments =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const schedule = { months: [6], anchor: LAST_FRIDAY };
    const selectWholeAt = (t: number) => rankSecurities(market.listed(t), (i) => market.cap(i, t)).slice(0, count);
    const largeOn = new Map<number, number[]>();
    return {
      '-ALL': runIndex(market, baseDate, {
        ...schedule,
        decide: (t) => computeProportional(selectWholeAt(t), (i) => market.floatCap(i, t)),
      }),
      '-LARGE': runIndex(market, baseDate, {
        ...schedule,
        decide(t, members) {
          const bands = { lower: 0.875, upper: 0.925, target: 0.9 };
          largeOn.set(
            t,
            selectCoverage(selectWholeAt(t), (i) => market.cap(i, t), members, bands),
          );
          return computeProportional(largeOn.get(t)!, (i) => market.floatCap(i, t));
        },
      }),
      '-SMALL': runIndex(market, baseDate, {
        ...schedule,
        decide: (t) =>
          computeProportional(
            selectWholeAt(t).filter((i) => !largeOn.get(t)!.includes(i)),
            (i) => market.floatCap(i, t),
          ),
      }),
    };
  };

export const createFixedCount =
  (count: number, ranks: { readonly enter: number; readonly exit: number }): Rulebook =>
  (market, baseDate) => {
    const rule = weightLargest(market, count, ranks);
    return {
      '': runIndex(market, baseDate, {
        ...EVERY_QUARTER,
        dividends: 'total',
        decide: (t, members) => capWeights(rule(t, members), 0.2),
      }),
    };
  };

export const runMidCap50: Rulebook = (market, baseDate) => {
  const schedule = { months: [3, 9], anchor: THIRD_FRIDAY, dividends: 'total' } as const;
  const weightLeaders = weightLargest(market, 40, { enter: 35, exit: 47 });
  const leadersOn = new Map<number, ReadonlySet<number>>();
  return {
    '-LEADERS': runIndex(market, baseDate, {
      ...schedule,
      decide(t, members) {
        const weights = weightLeaders(t, members);
        leadersOn.set(t, new Set(weights.keys()));
        return capWeights(weights, 0.1);
      },
    }),
    '': runIndex(market, baseDate, {
      ...schedule,
      decide(t, members) {
        const computeFloatCap = (i: number) => market.floatCap(i, t);
        const otherSecurities = rankSecurities(market.listed(t), computeFloatCap).filter(
          (i) => !leadersOn.get(t)!.has(i),
        );
        return capWeights(
          computeProportional(
            selectBuffered(otherSecurities, members, { count: 50, enter: 40, exit: 60 }),
            computeFloatCap,
          ),
          0.1,
        );
      },
    }),
  };
};

export const runPriceAverage: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: Array.from({ length: 12 }, (_, k) => k + 1),
    anchor: { day: 'last' },
    basket: () => 1,
    decide: (t) => computeProportional(market.members('AVERAGE', t), (i) => market.price(i, t)),
  }),
});

export const createAdjustedAverage: Rulebook = (market, baseDate) => {
  const readPriceFactor = (i: number, t: number) => market.fact(i, t, 'PRICE_FACTOR');
  return {
    '': runIndex(market, baseDate, {
      months: [4, 10],
      anchor: { day: 'first' },
      basket: readPriceFactor,
      splitsKeepWeight: true,
      decide: (t) =>
        computeProportional(market.members('AVERAGE', t), (i) => market.price(i, t) * readPriceFactor(i, t)),
    }),
  };
};

export const QUOTAS: Readonly<Record<string, number>> = {
  Financials: 14,
  Technology: 16,
  'Health Care': 8,
  Industrials: 10,
  Consumer: 14,
  Energy: 6,
  Utilities: 6,
  'Real Estate': 6,
};

export const runIndustryQuotas: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: QUARTERLY,
    anchor: { day: 'weekday', weekday: 5, nth: 1 },
    decide(t) {
      const order = rankSecurities(market.listed(t), (i) => market.floatCap(i, t));
      const securities = Object.entries(QUOTAS).flatMap(([sector, count]) =>
        order.filter((i) => market.text(i, t, 'SECTOR') === sector).slice(0, count),
      );
      return capWeights(
        computeProportional(securities, (i) => market.floatCap(i, t)),
        0.08,
      );
    },
  }),
});

/**
 * Returns the free-float band. A free float up to 15 % is rounded up to a whole percent. A larger one is rounded up to
 * 20, 30 ... 80 or 100 %.
 */
export function computeBand(float: number): number {
  const percent = Math.round(float * 1e6) / 1e4;
  if (percent <= 15) return Math.ceil(percent) / 100;
  if (percent <= 20) return 0.2;
  return percent > 80 ? 1 : (Math.ceil(percent / 10) * 10) / 100;
}

export const createFloatBands =
  (count: number): Rulebook =>
  (market, baseDate) => ({
    '': runIndex(market, baseDate, {
      months: [6, 12],
      anchor: { day: 'weekday', weekday: 5, nth: 2 },
      decide(t, members) {
        const all = market.listed(t);
        const annualise = (values: number[]) => {
          const knownValues = values.filter((value) => !Number.isNaN(value));
          return knownValues.length < 126 ? NaN : computeMean(knownValues);
        };
        const liquidity = listPercentiles(all.map((i) => annualise(market.traded(i, t, 252))));
        const eligible = all.filter((i, k) => liquidity[k]! >= (members?.has(i) === true ? 0.4 : 0.5));
        const listCaps = (i: number) => Array.from({ length: 252 }, (_, k) => market.cap(i, t - 251 + k));
        const order = rankSecurities(eligible, (i) => annualise(listCaps(i)));
        return computeProportional(
          selectBuffered(order, members, { count, enter: 0.8 * count, exit: 1.2 * count }),
          (i) => market.cap(i, t) * computeBand(market.store.float[i]![t]!),
        );
      },
    }),
  });
