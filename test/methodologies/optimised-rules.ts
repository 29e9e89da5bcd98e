import { runIndex, type PlainRun } from './index-run.js';
import type { Market } from './market.js';
import { hasBars, type Rulebook, type Schedule } from './parents.js';
import {
  selectBuffered,
  computeProportional,
  rankSecurities,
  sampleCovariance,
  sum,
  computeZScores,
  type Weights,
} from './plain-functions.js';
import { solveProgramme, type Row } from './quadratic.js';

const HALF_YEARLY: Schedule = { months: [5, 11], anchor: { day: 'last' } };
const DAY = 86_400_000;

/**
 * Returns the covariance of a year of returns with dividends, shrunk by a fifth towards the mean variance on the
 * diagonal.
 */
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

const createUnitTerm = (k: number, coefficient = 1): Row['terms'] => [[k, coefficient]];

/** Returns rows that keep each value between two bounds. */
const createBoundRows = (low: readonly number[], high: readonly number[]): Row[] =>
  low.flatMap((least, k) => [
    { terms: createUnitTerm(k), most: high[k]! },
    { terms: createUnitTerm(k, -1), most: -least },
  ]);

/**
 * Returns rows that keep groups within a distance of the parent, and small groups below three times their parent
 * weight.
 */
function groupRows(
  { market, t, securities, parent }: Problem,
  name: string,
  { within, small = 0 }: { readonly within: number; readonly small?: number },
): Row[] {
  const groups = new Set(securities.map((i) => market.text(i, t, name)));
  return [...groups].flatMap((group) => {
    const members = securities.flatMap((i, k) => (market.text(i, t, name) === group ? [k] : []));
    const own = sum(members.map((k) => parent[k]!));
    return [
      { terms: members.map((k): [number, number] => [k, 1]), most: own < small ? 3 * own : own + within },
      { terms: members.map((k): [number, number] => [k, -1]), most: within - own },
    ];
  });
}

/**
 * Returns rows that keep the active exposure to standardised values within a distance; a missing value counts as the
 * mean.
 */
function createStyleRows({ parent }: Problem, values: readonly number[], within: number): Row[] {
  const z = computeZScores(values).map((value) => (Number.isNaN(value) ? 0 : value));
  const own = sum(z.map((value, k) => value * parent[k]!));
  return [
    { terms: z.map((value, k): [number, number] => [k, value]), most: own + within },
    { terms: z.map((value, k): [number, number] => [k, -value]), most: within - own },
  ];
}

/** Derives an index of large securities with a full history, with its weights. */
function deriveIndices(
  { market, baseDate, count }: { readonly market: Market; readonly baseDate: string; readonly count: number },
  dividends: 'price' | 'total',
  decide: (problem: Problem, held: Weights | null) => Weights,
): Readonly<Record<string, PlainRun>> {
  const parentOn = new Map<number, Weights>();
  const computeFloatCap = (t: number) => (i: number) => market.floatCap(i, t);
  const PARENT = runIndex(market, baseDate, {
    ...HALF_YEARLY,
    dividends,
    decide(t, members) {
      const order = rankSecurities(market.listed(t).filter(hasBars(market, t, 253)), computeFloatCap(t));
      const buffer = { count, enter: 0.8 * count, exit: 1.2 * count };
      parentOn.set(t, computeProportional(selectBuffered(order, members, buffer), computeFloatCap(t)));
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

/** Returns the weights that exceed rounding errors, by security. */
const keepPositive = (securities: readonly number[], x: readonly number[]): Weights =>
  new Map(securities.flatMap((i, k) => (x[k]! > 1e-9 ? [[i, x[k]!] as [number, number]] : [])));

/**
 * Returns rows for variables that measure the distance from each held weight; the sum of these variables is at most
 * twice the limit.
 */
function createTurnoverRows(securities: readonly number[], held: Weights, limit: number): Row[] {
  const n = securities.length;
  const outside = sum([...held].map(([i, weight]) => (securities.includes(i) ? 0 : weight)));
  const from = securities.map((i) => held.get(i) ?? 0);
  const createDifference = (k: number, sign: number): Row['terms'] => [
    [k, sign],
    [n + k, -1],
  ];
  return [
    ...from.flatMap((weight, k): Row[] => [
      { terms: createDifference(k, 1), most: weight },
      { terms: createDifference(k, -1), most: -weight },
    ]),
    { terms: from.map((_, k): [number, number] => [n + k, 1]), most: 2 * limit - outside },
  ];
}

const WIDENED_LIMITS = [0.07, 0.09, 0.11, 0.13, 0.15, 0.17, 0.19, 0.2];

interface Limits {
  readonly turnover: number;
  readonly sectors: number;
  readonly countries: number;
}

/** Limits in the order in which they are relaxed. */
const STAGES: readonly Limits[] = [
  ...[0.1, 0.15, 0.2, 0.25, 0.3].map((turnover) => ({ turnover, sectors: 0.05, countries: 0.05 })),
  ...WIDENED_LIMITS.map((sectors) => ({ turnover: 0.3, sectors, countries: 0.05 })),
  ...WIDENED_LIMITS.map((countries) => ({ turnover: 0.3, sectors: 0.2, countries })),
];

/**
 * Returns the minimum-variance weights that are zero or at least `least`; every choice of securities is either solved
 * or excluded by a bound.
 */
function minimiseVariance({
  covariance,
  rowsOf,
  least,
}: {
  readonly covariance: readonly (readonly number[])[];
  /** Returns the rows of the weights of some securities and of additional variables. */
  rowsOf(kept: readonly number[]): { readonly rows: readonly Row[]; readonly further: number };
  readonly least: number;
}): number[] | undefined {
  let best: { readonly x: number[]; readonly variance: number } | undefined;
  const search = (kept: readonly number[], raised: ReadonlySet<number>): void => {
    const { rows, further } = rowsOf(kept);
    const n = kept.length;
    const P = Array.from({ length: n + further }, (_, i) =>
      Array.from({ length: n + further }, (__, j) => (i < n && j < n ? covariance[kept[i]!]![kept[j]!]! : 0)),
    );
    const raisedRows = kept.flatMap((k, at) =>
      raised.has(k) ? [{ terms: createUnitTerm(at, -1), most: -least }] : [],
    );
    const solved = solveProgramme({ P, q: P.map(() => 0), summed: n, rows: [...rows, ...raisedRows] });
    if (solved === undefined) return;
    const x = solved.slice(0, n);
    const variance = sum(x.map((a, i) => sum(x.map((b, j) => a * b * P[i]![j]!))));
    if (best !== undefined && variance >= best.variance * (1 - 1e-13)) return;
    const open = kept.flatMap((_, at) => (x[at]! > 1e-9 && x[at]! < least - 1e-12 ? [at] : []));
    if (open.length === 0) {
      const whole = covariance.map(() => 0);
      kept.forEach((k, at) => (whole[k] = x[at]!));
      best = { x: whole, variance };
      return;
    }
    const at = open.toSorted((a, b) => Math.abs(x[b]! - least / 2) - Math.abs(x[a]! - least / 2))[0]!;
    const k = kept[at]!;
    const excludeSecurity = () =>
      search(
        kept.filter((other) => other !== k),
        raised,
      );
    const raiseToLeast = () => search(kept, new Set([...raised, k]));
    if (x[at]! < least / 2) {
      excludeSecurity();
      raiseToLeast();
    } else {
      raiseToLeast();
      excludeSecurity();
    }
  };
  search(
    covariance.map((_, k) => k),
    new Set(),
  );
  return best?.x;
}

export const createMinimumVolatility =
  (count: number, most: number): Rulebook =>
  (market, baseDate) =>
    deriveIndices({ market, baseDate, count }, 'price', (problem, held) => {
      const { t, securities, parent } = problem;
      const covariance = covarianceOf(market, securities, t);
      const styles = [
        securities.map((i) => Math.log(market.floatCap(i, t))),
        securities.map((i) => market.fact(i, t, 'BOOK_TO_PRICE')),
        securities.map((i) => market.yield(i, t)),
      ];
      const fixed = [
        ...createBoundRows(
          parent.map(() => 0),
          parent.map((weight) => Math.min(most, 20 * weight)),
        ),
        ...styles.flatMap((values) => createStyleRows(problem, values, 0.25)),
      ];
      for (const { turnover, sectors, countries } of STAGES) {
        const rows = [
          ...fixed,
          ...groupRows(problem, 'SECTOR', { within: sectors, small: 0.025 }),
          ...groupRows(problem, 'COUNTRY', { within: countries, small: 0.025 }),
        ];
        const rowsOf = (kept: readonly number[]) => {
          const own = listKeptRows(rows, kept);
          if (held === null) return { rows: own, further: 0 };
          const names = kept.map((k) => securities[k]!);
          return { rows: [...own, ...createTurnoverRows(names, held, turnover)], further: kept.length };
        };
        const x = minimiseVariance({ covariance, rowsOf, least: 0.0005 });
        if (x !== undefined) return keepPositive(securities, x);
      }
      throw new Error('no weights keep the limits');
    });

/** Returns the rows restricted to the remaining securities; rows without any of these securities are omitted. */
function listKeptRows(rows: readonly Row[], kept: readonly number[]): Row[] {
  const place = new Map(kept.map((k, at) => [k, at]));
  return rows.flatMap(({ terms, most }) => {
    const own = terms.flatMap(([k, a]): [number, number][] => (place.has(k) ? [[place.get(k)!, a]] : []));
    return own.length === 0 ? [] : [{ terms: own, most }];
  });
}

export const createParisAligned =
  (count: number, most: number): Rulebook =>
  (market, baseDate) => {
    let atBase = NaN;
    return deriveIndices({ market, baseDate, count }, 'total', (problem, held) => {
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
        ...createBoundRows(
          parent.map(() => 0),
          parent.map((weight) => weight + most),
        ),
        ...groupRows(problem, 'SECTOR', { within: 0.15 }),
        { terms: intensity.map((value, k): [number, number] => [k, (value - bound) / bound]), most: 0 },
        { terms: high.map((k): [number, number] => [k, -1]), most: -sum(high.map((k) => parent[k]!)) },
      ];
      // excluded securities are not variables
      const place = new Map(kept.map((k, at) => [k, at]));
      const inner = rows.flatMap(({ terms, most }) => {
        const own = terms.flatMap(([k, a]): [number, number][] => (place.has(k) ? [[place.get(k)!, a]] : []));
        return own.length === 0 ? [] : [{ terms: own, most }];
      });
      const P = kept.map((i) => kept.map((j) => covariance[i]![j]!));
      const q = kept.map((i) => -sum(parent.map((weight, j) => covariance[i]![j]! * weight)));
      const x = solveProgramme({ P, q, summed: kept.length, rows: inner });
      if (x === undefined) throw new Error('no weights keep the limits');
      return keepPositive(
        kept.map((k) => securities[k]!),
        x,
      );
    });
  };
