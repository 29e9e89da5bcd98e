import { computeMedian } from './dividend-rules.js';
import { findNthWeekday, rebalanceSessions, runIndex } from './index-run.js';
import type { Market } from './market.js';
import { EVERY_QUARTER, type Rulebook, runOnParent, THIRD_FRIDAY, weightLargest } from './parents.js';
import {
  capWeights,
  selectCoverage,
  computeMean,
  computeProportional,
  rankSecurities,
  selectBuffered,
  sum,
  type Weights,
} from './plain-functions.js';

const MSCI_QUARTERS = { months: [2, 5, 8, 11], anchor: { day: 'last' } } as const;

interface Ladder {
  readonly single?: { readonly above: number; readonly to: number };
  readonly group?: { readonly above: number; readonly together: number; readonly to: number };
}

/** Caps weights by key in two stages: first each weight, then the sum of the large weights. */
export function capInStages<K>(weights: ReadonlyMap<K, number>, { single, group }: Ladder): Map<K, number> {
  const keys = [...weights.keys()];
  const cutTo = (list: readonly number[], shares: readonly number[], cap: number): number[] => {
    const total = sum(shares);
    const cut = capWeights(new Map(list.map((k, i) => [k, shares[i]! / total])), cap);
    return list.map((k) => cut.get(k)!);
  };
  let values = keys.map((key) => weights.get(key)!);
  if (single !== undefined && Math.max(...values) > single.above + 1e-12)
    values = cutTo(
      values.map((_, k) => k),
      values,
      single.to,
    );
  if (group !== undefined) {
    const large = values.flatMap((value, k) => (value > group.above + 1e-12 ? [k] : []));
    const largeTotal = sum(large.map((k) => values[k]!));
    if (largeTotal > group.together + 1e-12) {
      const otherPositions = values.flatMap((_, k) => (large.includes(k) ? [] : [k]));
      const remainder = 1 - group.to;
      const cut = cutTo(
        otherPositions,
        otherPositions.map((k) => values[k]!),
        group.above / remainder,
      );
      const next = values.slice();
      for (const k of large) next[k] = (values[k]! * group.to) / largeTotal;
      otherPositions.forEach((k, i) => (next[k] = cut[i]! * remainder));
      values = next;
    }
  }
  return new Map(keys.map((key, k) => [key, values[k]!]));
}

const capIssuers =
  (ladder: Ladder): Rulebook =>
  (market, baseDate) => ({
    '': runIndex(market, baseDate, {
      ...MSCI_QUARTERS,
      decide(t, members) {
        const computeFloatCap = (i: number) => market.floatCap(i, t);
        const country = market.listed(t).filter((i) => market.text(i, t, 'COUNTRY') === 'DE');
        const bands = { lower: 0.985, upper: 0.995, target: 0.99 };
        const raw = computeProportional(
          selectCoverage(rankSecurities(country, computeFloatCap), computeFloatCap, members, bands),
          computeFloatCap,
        );
        const readIssuer = (i: number) => market.text(i, t, 'ISSUER');
        const before = new Map<string, number>();
        for (const [i, weight] of raw) before.set(readIssuer(i), (before.get(readIssuer(i)) ?? 0) + weight);
        const after = capInStages(before, ladder);
        return new Map(
          [...raw].map(([i, weight]) => [i, (weight * after.get(readIssuer(i))!) / before.get(readIssuer(i))!]),
        );
      },
    }),
  });

export const runTenForty = capIssuers({
  single: { above: 0.09, to: 0.09 },
  group: { above: 0.045, together: 0.36, to: 0.36 },
});

export const runCapped2550 = capIssuers({
  single: { above: 0.225, to: 0.225 },
  group: { above: 0.045, together: 0.45, to: 0.45 },
});

const WITHHOLDING_RATES: Readonly<Record<string, number>> = { DE: 0.26375, FR: 0.25, GB: 0, IT: 0.26, US: 0.3 };

export const createDevelopedNet: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...MSCI_QUARTERS,
    dividends: 'net',
    withheld: (i, t) => WITHHOLDING_RATES[market.text(i, t, 'COUNTRY')] ?? 0.15,
    decide(t, members) {
      const computeFloatCap = (i: number) => market.floatCap(i, t);
      const eligible = market.listed(t).filter((i) => {
        const ratio = (252 * computeMedian(market.traded(i, t, 252))) / computeFloatCap(i);
        return (
          computeFloatCap(i) / market.cap(i, t) >= 0.15 - 1e-12 && ratio >= (members?.has(i) === true ? 0.1333 : 0.2)
        );
      });
      const bands = { lower: 0.8, upper: 0.9, target: 0.85 };
      const countries = [...new Set(eligible.map((i) => market.text(i, t, 'COUNTRY')))];
      const selectedSecurities = countries.flatMap((country) => {
        const countrySecurities = eligible.filter((i) => market.text(i, t, 'COUNTRY') === country);
        return selectCoverage(
          rankSecurities(countrySecurities, (i) => market.cap(i, t)),
          computeFloatCap,
          members,
          bands,
        );
      });
      return computeProportional(selectedSecurities, computeFloatCap);
    },
  }),
});

export const createPhasedFreeFloat: Rulebook = (market, baseDate) => {
  const monthly = { months: Array.from({ length: 12 }, (_, k) => k + 1), anchor: { day: 'last' } } as const;
  const { dates, float } = market.store;
  const base = dates.findIndex((date) => date >= baseDate);
  const reviews = [base, ...rebalanceSessions(dates, monthly).filter((t) => t > base)];
  return {
    '': runIndex(market, baseDate, {
      ...monthly,
      decide(t) {
        const latest = reviews.filter((s) => s <= t).slice(-10);
        const isFloatPhased = (i: number) => {
          const values = latest.map((s) => float[i]![s]!).filter((value) => !Number.isNaN(value));
          const first = values[0] ?? float[i]![t]!;
          return computeMean([...Array.from({ length: 10 - values.length }, () => first), ...values]);
        };
        const raw: Weights = computeProportional(market.listed(t), (i) => market.cap(i, t) * isFloatPhased(i));
        return capWeights(raw, 0.1);
      },
    }),
  };
};

/** Returns the session of the second Friday of the month of a session, or the last one before it. */
const findSecondFriday = (dates: readonly string[], t: number): number => {
  const secondFriday = findNthWeekday(dates[t]!.slice(0, 7), { weekday: 5, nth: 2 });
  return dates.findLastIndex((date) => date <= secondFriday);
};

/**
 * Reduces the smallest weight above 4.8% to 4.5% until those above it are at most 50% together. The others below 4.5%
 * take the excess up to 4.5%, and then those above it up to 23%.
 */
function reduceSmallest(weights: Weights): Weights {
  const after = new Map(weights);
  const done = new Set<number>();
  const handOut = (amount: number, isTaker: (i: number) => boolean, cap: number): number => {
    let left = amount;
    for (;;) {
      const takers = [...after].filter(([i, weight]) => !done.has(i) && isTaker(i) && weight < cap - 1e-14);
      if (left < 1e-15 || takers.length === 0) return left;
      const total = sum(takers.map(([, weight]) => weight));
      const share = Math.min(left / total, ...takers.map(([, weight]) => cap / weight - 1));
      for (const [i, weight] of takers) after.set(i, weight * (1 + share));
      left -= share * total;
    }
  };
  for (;;) {
    const large = [...after].filter(([, weight]) => weight > 0.048 + 1e-12);
    if (sum(large.map(([, weight]) => weight)) <= 0.5 + 1e-12) return after;
    const [smallest, weight] = large.toSorted((a, b) => a[1] - b[1])[0]!;
    after.set(smallest, 0.045);
    done.add(smallest);
    const below = new Set([...after].flatMap(([i, own]) => (own < 0.045 ? [i] : [])));
    const rest = handOut(weight - 0.045, (i) => below.has(i), 0.045);
    handOut(rest, (i) => !below.has(i), 0.23);
  }
}

export const runSectorCapped: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    reference: findSecondFriday,
    decide(t) {
      const sector = market.listed(t).filter((i) => market.text(i, t, 'SECTOR') === 'Technology');
      const raw = computeProportional(sector, (i) => market.floatCap(i, t));
      return reduceSmallest(capInStages(raw, { single: { above: 0.24, to: 0.23 } }));
    },
  }),
});

/** Caps the largest weight at 33% and all others at 19% if one exceeds 35% or 20%. */
export const runCapped3520: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    decide(t) {
      const computeFloatCap = (i: number) => market.floatCap(i, t);
      const country = market.listed(t).filter((i) => market.text(i, t, 'COUNTRY') === 'DE');
      const selected = rankSecurities(country, computeFloatCap).slice(0, 10);
      const raw = computeProportional(selected, computeFloatCap);
      const ordered = selected.map((i) => raw.get(i)!);
      if (ordered[0]! <= 0.35 && ordered[1]! <= 0.2) return raw;
      const caps = ordered.map((_, rank) => (rank === 0 ? 0.33 : 0.19));
      const atCap = new Set<number>();
      for (;;) {
        const free = ordered.map((weight, rank) => (atCap.has(rank) ? 0 : weight));
        const scale = (1 - sum([...atCap].map((rank) => caps[rank]!))) / sum(free);
        const beyond = free.findIndex((weight, rank) => weight * scale > caps[rank]! + 1e-13);
        if (beyond < 0)
          return new Map(selected.map((i, rank) => [i, atCap.has(rank) ? caps[rank]! : free[rank]! * scale]));
        atCap.add(beyond);
      }
    },
  }),
});

export const runBandedFreeFloat: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    decide(t, members) {
      const computeCap = (i: number) => market.cap(i, t);
      const order = rankSecurities(market.listed(t), computeCap);
      const selected = selectBuffered(order, members, { count: 25, enter: 23, exit: 27 });
      const computeBand = (i: number) => Math.ceil((20 * market.floatCap(i, t)) / computeCap(i) - 1e-9) / 20;
      return capWeights(
        computeProportional(selected, (i) => computeCap(i) * computeBand(i)),
        0.15,
      );
    },
  }),
});

export const runFloatRounded40: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    decide(t, members) {
      const order = rankSecurities(market.listed(t), (i) => market.floatCap(i, t));
      const selected = selectBuffered(order, members, { count: 40, enter: 35, exit: 45 });
      const computeSteps = (i: number) => Math.ceil((20 * market.floatCap(i, t)) / market.cap(i, t) - 1e-9);
      return capWeights(
        computeProportional(selected, (i) => market.cap(i, t) * computeSteps(i)),
        0.15,
      );
    },
  }),
});

/** Upper ends of the bands of free float, and the free float that counts in each. */
const FLOAT_BANDS = [
  [0.1, 0.1],
  [0.2, 0.2],
  [0.3, 0.3],
  [0.4, 0.4],
  [0.5, 0.6],
  [0.6, 0.8],
  [Infinity, 1],
] as const;

export const runFloatLadder35: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [6, 12],
    anchor: THIRD_FRIDAY,
    decide(t) {
      const traded = rankSecurities(market.listed(t), (i) => computeMedian(market.traded(i, t, 126)));
      const computeBand = (i: number) => {
        const float = market.store.float[i]![t]!;
        return FLOAT_BANDS.find(([end]) => float <= end)![1];
      };
      return capWeights(
        computeProportional(traded.slice(0, 35), (i) => market.cap(i, t) * computeBand(i)),
        0.2,
      );
    },
  }),
});

/** Selects the securities of each sector in an order. */
const selectBySector = (
  market: Market,
  t: number,
  { securities, select }: { readonly securities: readonly number[]; select(sector: number[], name: string): number[] },
): number[] => {
  const names = new Set(securities.map((i) => market.text(i, t, 'SECTOR')));
  return [...names].flatMap((name) =>
    select(
      securities.filter((i) => market.text(i, t, 'SECTOR') === name),
      name,
    ),
  );
};

export const runIndustryCoverage: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [6, 12],
    anchor: THIRD_FRIDAY,
    decide(t) {
      const computeCap = (i: number) => market.cap(i, t);
      const selected = selectBySector(market, t, {
        securities: market.listed(t),
        select(sector) {
          const total = sum(sector.map(computeCap));
          let covered = 0;
          return rankSecurities(sector, computeCap).filter((i) => {
            const isOpen = covered < 0.7 * total;
            covered += computeCap(i);
            return isOpen;
          });
        },
      });
      return computeProportional(selected, (i) => market.floatCap(i, t));
    },
  }),
});

export const createScoreCoverage =
  (count: number): Rulebook =>
  (market, baseDate) =>
    runOnParent({
      market,
      baseDate,
      count,
      schedule: { months: [5], anchor: THIRD_FRIDAY },
      decide(parent, t) {
        const computeSize = (i: number) => market.floatCap(i, t);
        const eligible = parent.filter((i) => market.fact(i, t, 'CONTROVERSY_SCORE') >= 1);
        const whole = sum(eligible.map(computeSize));
        const computeRating = (i: number) => market.fact(i, t, 'ESG_RATING') + computeSize(i) / whole;
        const selected = selectBySector(market, t, {
          securities: eligible,
          select(sector, name) {
            const all = parent.filter((i) => market.text(i, t, 'SECTOR') === name);
            const target = 0.75 * sum(all.map(computeSize));
            const order = rankSecurities(sector, computeRating);
            const sums = order.map((_, k) => sum(order.slice(0, k + 1).map(computeSize)));
            const crossing = sums.findIndex((covered) => covered >= target);
            if (crossing < 0) return order;
            const before = crossing === 0 ? 0 : sums[crossing - 1]!;
            return order.slice(0, sums[crossing]! - target <= target - before ? crossing + 1 : crossing);
          },
        });
        return computeProportional(selected, computeSize);
      },
    });

export const runReinvestedBefore: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    dividends: 'total',
    isReinvestedBefore: true,
    decide: weightLargest(market, 100),
  }),
});
