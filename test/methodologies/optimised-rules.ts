import { runIndex, type PlainRun } from './index-run.js';
import type { Market } from './market.js';
import { hasBars, type Rulebook, type Schedule } from './parents.js';
import { buffered, proportional, ranked, sampleCovariance, sum, type Weights } from './plain.js';
import { solveProgramme, type Row } from './quadratic.js';

const HALF_YEARLY: Schedule = { months: [5, 11], anchor: { day: 'last' } };
const DAY = 86_400_000;

/** Covariance of a year of returns with dividends, a fifth of the way towards the mean variance on the diagonal. */
function covarianceOf(market: Market, securities: readonly number[], t: number): number[][] {
  const returns = securities.map((i) => market.returns(i, t, 252, true));
  const sample = sampleCovariance(returns[0]!.map((_, s) => returns.map((row) => row[s]!)));
  const level = sum(sample.map((row, i) => row[i]!)) / sample.length;
  return sample.map((row, i) => row.map((value, j) => (0.8 * value + (i === j ? 0.2 * level : 0)) / level));
}

interface Problem {
  readonly market: Market;
  readonly t: number;
  readonly securities: readonly number[];
  /** Weights of the parent, in the order of the securities. */
  readonly parent: readonly number[];
}

const oneOf = (k: number, coefficient = 1): Row['terms'] => [[k, coefficient]];

/** Rows that keep each value between two bounds. */
const between = (low: readonly number[], high: readonly number[]): Row[] =>
  low.flatMap((least, k) => [
    { terms: oneOf(k), most: high[k]! },
    { terms: oneOf(k, -1), most: -least },
  ]);

/** Rows that keep groups within a distance of the parent. */
function groupRows(
  { market, t, securities, parent }: Problem,
  name: string,
  { within }: { readonly within: number },
): Row[] {
  const groups = new Set(securities.map((i) => market.text(i, t, name)));
  return [...groups].flatMap((group) => {
    const members = securities.flatMap((i, k) => (market.text(i, t, name) === group ? [k] : []));
    const own = sum(members.map((k) => parent[k]!));
    return [
      { terms: members.map((k): [number, number] => [k, 1]), most: own + within },
      { terms: members.map((k): [number, number] => [k, -1]), most: within - own },
    ];
  });
}

/** Large securities with a full history, and weights within them. */
function derived(
  { market, baseDate, count }: { readonly market: Market; readonly baseDate: string; readonly count: number },
  dividends: 'price' | 'total',
  decide: (problem: Problem, held: Weights | null) => Weights,
): Readonly<Record<string, PlainRun>> {
  const parentOn = new Map<number, Weights>();
  const floatCap = (t: number) => (i: number) => market.floatCap(i, t);
  const PARENT = runIndex(market, baseDate, {
    ...HALF_YEARLY,
    dividends,
    decide(t, members) {
      const order = ranked(market.listed(t).filter(hasBars(market, t, 253)), floatCap(t));
      const buffer = { count, enter: 0.8 * count, exit: 1.2 * count };
      parentOn.set(t, proportional(buffered(order, members, buffer), floatCap(t)));
      return parentOn.get(t)!;
    },
  });
  const run = runIndex(market, baseDate, {
    ...HALF_YEARLY,
    dividends,
    decide(t, members, held) {
      const weights = parentOn.get(t)!;
      const securities = [...weights.keys()];
      const problem = { market, t, securities, parent: securities.map((i) => weights.get(i)!) };
      return decide(problem, members === null ? null : held);
    },
  });
  return { '-PARENT': PARENT, '': run };
}

/** Weights above rounding, by security. */
const positive = (securities: readonly number[], x: readonly number[]): Weights =>
  new Map(securities.flatMap((i, k) => (x[k]! > 1e-9 ? [[i, x[k]!] as [number, number]] : [])));

export const parisAligned =
  (count: number, most: number): Rulebook =>
  (market, baseDate) => {
    let atBase = NaN;
    return derived({ market, baseDate, count }, 'total', (problem, held) => {
      const { t, securities, parent } = problem;
      const covariance = covarianceOf(market, securities, t);
      const intensity = securities.map((i) => market.fact(i, t, 'CARBON_INTENSITY'));
      if (held === null) atBase = sum(intensity.map((value, k) => value * parent[k]!));
      const years = (Date.parse(market.store.dates[t]!) - Date.parse(baseDate)) / DAY / 365.25;
      const bound = 0.5 * atBase * 0.93 ** years;
      const excluded = securities.map((i) => market.text(i, t, 'EXCLUDED_BUSINESS') === 'Yes');
      const high = securities.flatMap((i, k) => (market.text(i, t, 'CLIMATE_IMPACT') === 'High' ? [k] : []));
      const kept = securities.flatMap((_, k) => (excluded[k]! ? [] : [k]));
      const rows = [
        ...between(
          parent.map(() => 0),
          parent.map((weight) => weight + most),
        ),
        ...groupRows(problem, 'SECTOR', { within: 0.15 }),
        { terms: intensity.map((value, k): [number, number] => [k, (value - bound) / bound]), most: 0 },
        { terms: high.map((k): [number, number] => [k, -1]), most: -sum(high.map((k) => parent[k]!)) },
      ];
      // Securities that are excluded are no variables.
      const place = new Map(kept.map((k, at) => [k, at]));
      const inner = rows.flatMap(({ terms, most }) => {
        const own = terms.flatMap(([k, a]): [number, number][] => (place.has(k) ? [[place.get(k)!, a]] : []));
        return own.length === 0 ? [] : [{ terms: own, most }];
      });
      const P = kept.map((i) => kept.map((j) => covariance[i]![j]!));
      const q = kept.map((i) => -sum(parent.map((weight, j) => covariance[i]![j]! * weight)));
      const x = solveProgramme({ P, q, summed: kept.length, rows: inner });
      if (x === undefined) throw new Error('no weights keep the limits');
      return positive(
        kept.map((k) => securities[k]!),
        x,
      );
    });
  };
