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
 * Returns the covariance of a year of returns with dividends. It is shrunk by a fifth towards the mean variance on the
 * diagonal.
 */
function computeCovariance(market: Market, securities: readonly number[], t: number): number[][] {
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

/** Returns constraint rows that keep each value between two bounds. */
const createBoundRows = (low: readonly number[], high: readonly number[]): Row[] =>
  low.flatMap((lower, k) => [
    { terms: createUnitTerm(k), most: high[k]! },
    { terms: createUnitTerm(k, -1), most: -lower },
  ]);

/**
 * Returns constraint rows that keep each group within a distance of its weight in the parent. They also keep small
 * groups below three times this weight.
 */
function groupRows(
  { market, t, securities, parent }: Problem,
  name: string,
  { within, small = 0 }: { readonly within: number; readonly small?: number },
): Row[] {
  const groups = new Set(securities.map((i) => market.text(i, t, name)));
  return [...groups].flatMap((group) => {
    const members = securities.flatMap((i, k) => (market.text(i, t, name) === group ? [k] : []));
    const groupWeight = sum(members.map((k) => parent[k]!));
    return [
      {
        terms: members.map((k): [number, number] => [k, 1]),
        most: groupWeight < small ? 3 * groupWeight : groupWeight + within,
      },
      { terms: members.map((k): [number, number] => [k, -1]), most: within - groupWeight },
    ];
  });
}

/**
 * Returns constraint rows that keep the active exposure to standardised values within a distance. A missing value
 * counts as the mean.
 */
function createStyleRows({ parent }: Problem, values: readonly number[], within: number): Row[] {
  const z = computeZScores(values).map((value) => (Number.isNaN(value) ? 0 : value));
  const exposure = sum(z.map((value, k) => value * parent[k]!));
  return [
    { terms: z.map((value, k): [number, number] => [k, value]), most: exposure + within },
    { terms: z.map((value, k): [number, number] => [k, -value]), most: within - exposure },
  ];
}

/** Returns the parent index of large securities with a full history, and the index derived from it. */
function deriveIndices(
  { market, baseDate, count }: { readonly market: Market; readonly baseDate: string; readonly count: number },
  dividends: 'price' | 'total',
  decide: (problem: Problem, heldWeights: Weights | null) => Weights,
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
    decide(t, members, heldWeights) {
      const weights = parentOn.get(t)!;
      const securities = [...weights.keys()];
      const problem = { market, t, securities, parent: securities.map((i) => weights.get(i)!) };
      return decide(problem, members === null ? null : heldWeights);
    },
  });
  return { '-PARENT': PARENT, '': run };
}

/** Returns the weights by security. Leaves out weights that are only rounding errors. */
const keepPositive = (securities: readonly number[], x: readonly number[]): Weights =>
  new Map(securities.flatMap((i, k) => (x[k]! > 1e-9 ? [[i, x[k]!] as [number, number]] : [])));

/**
 * Returns constraint rows for variables that measure the distance from each held weight. The sum of these variables is
 * at most twice the limit.
 */
function createTurnoverRows(securities: readonly number[], heldWeights: Weights, limit: number): Row[] {
  const n = securities.length;
  const outsideWeight = sum([...heldWeights].map(([i, weight]) => (securities.includes(i) ? 0 : weight)));
  const from = securities.map((i) => heldWeights.get(i) ?? 0);
  const createDifference = (k: number, sign: number): Row['terms'] => [
    [k, sign],
    [n + k, -1],
  ];
  return [
    ...from.flatMap((weight, k): Row[] => [
      { terms: createDifference(k, 1), most: weight },
      { terms: createDifference(k, -1), most: -weight },
    ]),
    { terms: from.map((_, k): [number, number] => [n + k, 1]), most: 2 * limit - outsideWeight },
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
 * Returns the minimum-variance weights that are zero or at least `least`. It considers every choice of securities: it
 * solves the choice or excludes it by a bound.
 */
function minimiseVariance({
  covariance,
  createRows,
  least,
}: {
  readonly covariance: readonly (readonly number[])[];
  /** Returns the constraint rows of the weights of some securities and of additional variables. */
  createRows(kept: readonly number[]): { readonly rows: readonly Row[]; readonly further: number };
  readonly least: number;
}): number[] | undefined {
  let best: { readonly x: number[]; readonly variance: number } | undefined;
  const search = (kept: readonly number[], raised: ReadonlySet<number>): void => {
    const { rows, further } = createRows(kept);
    const n = kept.length;
    const P = Array.from({ length: n + further }, (_, i) =>
      Array.from({ length: n + further }, (__, j) => (i < n && j < n ? covariance[kept[i]!]![kept[j]!]! : 0)),
    );
    const raisedRows = kept.flatMap((k, position) =>
      raised.has(k) ? [{ terms: createUnitTerm(position, -1), most: -least }] : [],
    );
    const solution = solveProgramme({ P, q: P.map(() => 0), summed: n, rows: [...rows, ...raisedRows] });
    if (solution === undefined) return;
    const x = solution.slice(0, n);
    const variance = sum(x.map((a, i) => sum(x.map((b, j) => a * b * P[i]![j]!))));
    if (best !== undefined && variance >= best.variance * (1 - 1e-13)) return;
    const openPositions = kept.flatMap((_, position) =>
      x[position]! > 1e-9 && x[position]! < least - 1e-12 ? [position] : [],
    );
    if (openPositions.length === 0) {
      const zeros = covariance.map(() => 0);
      kept.forEach((k, position) => (zeros[k] = x[position]!));
      best = { x: zeros, variance };
      return;
    }
    const closestPosition = openPositions.toSorted(
      (a, b) => Math.abs(x[b]! - least / 2) - Math.abs(x[a]! - least / 2),
    )[0]!;
    const k = kept[closestPosition]!;
    const excludeSecurity = () =>
      search(
        kept.filter((other) => other !== k),
        raised,
      );
    const raiseToLeast = () => search(kept, new Set([...raised, k]));
    if (x[closestPosition]! < least / 2) {
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
  (count: number, weightMax: number): Rulebook =>
  (market, baseDate) =>
    deriveIndices({ market, baseDate, count }, 'price', (problem, heldWeights) => {
      const { t, securities, parent } = problem;
      const covariance = computeCovariance(market, securities, t);
      const styles = [
        securities.map((i) => Math.log(market.floatCap(i, t))),
        securities.map((i) => market.fact(i, t, 'BOOK_TO_PRICE')),
        securities.map((i) => market.yield(i, t)),
      ];
      const fixedRows = [
        ...createBoundRows(
          parent.map(() => 0),
          parent.map((weight) => Math.min(weightMax, 20 * weight)),
        ),
        ...styles.flatMap((values) => createStyleRows(problem, values, 0.25)),
      ];
      for (const { turnover, sectors, countries } of STAGES) {
        const rows = [
          ...fixedRows,
          ...groupRows(problem, 'SECTOR', { within: sectors, small: 0.025 }),
          ...groupRows(problem, 'COUNTRY', { within: countries, small: 0.025 }),
        ];
        const createRows = (kept: readonly number[]) => {
          const keptRows = listKeptRows(rows, kept);
          if (heldWeights === null) return { rows: keptRows, further: 0 };
          const names = kept.map((k) => securities[k]!);
          return { rows: [...keptRows, ...createTurnoverRows(names, heldWeights, turnover)], further: kept.length };
        };
        const x = minimiseVariance({ covariance, createRows, least: 0.0005 });
        if (x !== undefined) return keepPositive(securities, x);
      }
      throw new Error('no weights keep the limits');
    });

/** Returns the constraint rows for the remaining securities. A row without any of these securities is left out. */
function listKeptRows(rows: readonly Row[], kept: readonly number[]): Row[] {
  const place = new Map(kept.map((k, position) => [k, position]));
  return rows.flatMap(({ terms, most }) => {
    const keptTerms = terms.flatMap(([k, a]): [number, number][] => (place.has(k) ? [[place.get(k)!, a]] : []));
    return keptTerms.length === 0 ? [] : [{ terms: keptTerms, most }];
  });
}

export const createParisAligned =
  (count: number, weightMax: number): Rulebook =>
  (market, baseDate) => {
    let atBase = NaN;
    return deriveIndices({ market, baseDate, count }, 'total', (problem, heldWeights) => {
      const { t, securities, parent } = problem;
      const covariance = computeCovariance(market, securities, t);
      const intensity = securities.map((i) => market.fact(i, t, 'CARBON_INTENSITY'));
      if (heldWeights === null) atBase = sum(intensity.map((value, k) => value * parent[k]!));
      const years = (Date.parse(market.store.dates[t]!) - Date.parse(baseDate)) / DAY / 365.25;
      const bound = 0.5 * atBase * 0.93 ** years;
      const isExcluded = securities.map((i) => market.text(i, t, 'EXCLUDED_BUSINESS') === 'Yes');
      const high = securities.flatMap((i, k) => (market.text(i, t, 'CLIMATE_IMPACT') === 'High' ? [k] : []));
      const keptPositions = securities.flatMap((_, k) => (isExcluded[k]! ? [] : [k]));
      const rows = [
        ...createBoundRows(
          parent.map(() => 0),
          parent.map((weight) => weight + weightMax),
        ),
        ...groupRows(problem, 'SECTOR', { within: 0.15 }),
        { terms: intensity.map((value, k): [number, number] => [k, (value - bound) / bound]), most: 0 },
        { terms: high.map((k): [number, number] => [k, -1]), most: -sum(high.map((k) => parent[k]!)) },
      ];
      // excluded securities are not variables
      const place = new Map(keptPositions.map((k, position) => [k, position]));
      const inner = rows.flatMap(({ terms, most }) => {
        const keptTerms = terms.flatMap(([k, a]): [number, number][] => (place.has(k) ? [[place.get(k)!, a]] : []));
        return keptTerms.length === 0 ? [] : [{ terms: keptTerms, most }];
      });
      const P = keptPositions.map((i) => keptPositions.map((j) => covariance[i]![j]!));
      const q = keptPositions.map((i) => -sum(parent.map((weight, j) => covariance[i]![j]! * weight)));
      const x = solveProgramme({ P, q, summed: keptPositions.length, rows: inner });
      if (x === undefined) throw new Error('no weights keep the limits');
      return keepPositive(
        keptPositions.map((k) => securities[k]!),
        x,
      );
    });
  };

/** Number of halvings of the price of risk, which then has about all digits of a double. */
const PRICE_HALVINGS = 60;

/**
 * Returns the weights with the largest score whose variance is at most that of the parent. They are the optimum of the
 * score less a multiple of the variance; the multiple is bisected until the variance is that of the parent.
 */
export const createMultipleFactors =
  (count: number): Rulebook =>
  (market, baseDate) =>
    deriveIndices({ market, baseDate, count }, 'price', (problem) => {
      const { t, securities, parent } = problem;
      const covariance = computeCovariance(market, securities, t);
      const standardise = (values: readonly number[]) => computeZScores(values).map((z) => (Number.isNaN(z) ? 0 : z));
      const [book, quality, size] = [
        standardise(securities.map((i) => market.fact(i, t, 'BOOK_TO_PRICE'))),
        standardise(securities.map((i) => market.fact(i, t, 'RETURN_ON_EQUITY'))),
        standardise(securities.map((i) => Math.log(market.floatCap(i, t)))),
      ];
      const score = securities.map((_, k) => (book![k]! + quality![k]! - size![k]!) / 3);
      const rows = [
        ...createBoundRows(
          parent.map((weight) => Math.max(0, weight - 0.02)),
          parent.map((weight) => weight + 0.02),
        ),
        ...groupRows(problem, 'SECTOR', { within: 0.05 }),
      ];
      const computeVariance = (x: readonly number[]) =>
        sum(x.map((a, i) => a * sum(x.map((b, j) => b * covariance[i]![j]!))));
      const solveAt = (price: number): number[] => {
        const P = covariance.map((row) => row.map((value) => price * value));
        const x = solveProgramme({ P, q: score.map((value) => -value), summed: parent.length, rows });
        if (x === undefined) throw new Error('no weights keep the limits');
        return x;
      };
      const limit = computeVariance(parent);
      let [low, high] = [1e-3, 1e3];
      for (let k = 0; k < PRICE_HALVINGS; k++) {
        const middle = Math.sqrt(low * high);
        if (computeVariance(solveAt(middle)) > limit) low = middle;
        else high = middle;
      }
      return keepPositive(securities, solveAt(high));
    });
