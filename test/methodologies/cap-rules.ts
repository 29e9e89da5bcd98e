import { computeMedian } from './dividend-rules.js';
import { rebalanceSessions, runIndex } from './index-run.js';
import { type Rulebook } from './parents.js';
import {
  capWeights,
  selectCoverage,
  computeMean,
  computeProportional,
  rankSecurities,
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

export const runTenForty: Rulebook = (market, baseDate) => ({
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
      const after = capInStages(before, {
        single: { above: 0.09, to: 0.09 },
        group: { above: 0.045, together: 0.36, to: 0.36 },
      });
      return new Map(
        [...raw].map(([i, weight]) => [i, (weight * after.get(readIssuer(i))!) / before.get(readIssuer(i))!]),
      );
    },
  }),
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
