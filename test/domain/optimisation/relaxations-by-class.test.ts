import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { plainAlgebra } from '#kernels/optimisation/algebra.js';
import { denseMetric } from '#kernels/optimisation/metric.js';
import { CONSTRAINT_CLASSES } from '#domain/constraints/catalogue.js';
import { ConstraintRow } from '#domain/documents/index-document.js';
import { explainChoice, explainInfeasibility, type Infeasibility } from '#domain/optimisation/infeasibility.js';
import { createProblem } from '#domain/optimisation/problem.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { seeded } from '../../seeded.js';
import { smallProblem, solvers } from './small-problems.js';

type Row = { readonly type: string; readonly params: Readonly<Record<string, unknown>> };
type Random = () => number;

const row = (type: string, params: Readonly<Record<string, unknown>>): Row => ({ type, params });
const capped = (upper: number) => row('PositionBounds', { upper });
const held = (random: Random) => row('PositionBounds', { lower: 0.03 + 0.03 * random() });
/** Nobody above a twelfth and a little: far from any index that was drawn. */
const level = (random: Random) => capped(0.1 + 0.02 * random());

interface Case {
  /** The first row is the one whose parameter has to be offered; the others stand against it. */
  readonly rows: (random: Random) => readonly Row[];
  readonly names?: number;
}

const averages = (side: 'lower' | 'upper', value: (random: Random) => number): Case[] => {
  const sides = (random: Random, from: number) => ({ [side]: side === 'upper' ? from * value(random) : from / value(random) });
  const extreme = side === 'upper' ? 4 : 100;
  return [
    { rows: (random) => [row('WeightedAverage', { field: 'X', ...sides(random, extreme) }), capped(0.2)] },
    { rows: (random) => [row('WeightedAverage', { field: 'X', relative: true, ...sides(random, side === 'upper' ? 0.1 : 3) }), capped(0.25)] },
    { rows: (random) => [row('WeightedAverage', { field: 'GAPS', missing: 'renormalise', ...sides(random, extreme) }), capped(0.2)] },
    { rows: (random) => [row('WeightedAverage', { field: 'X', ...sides(random, extreme) }), row('GroupBounds', { field: 'SECTOR', lower: 0.1 }), row('Turnover', { limit: 0.5, reference: 'previous' }), row('WeightSum', { lower: 0.9 })] },
  ];
};

/** Two of six names reach half, the others four tenths. */
const SIX = { single: 0.3, trigger: 0.1, aggregate: 0.5 };

/** By class and parameters, rows that cannot hold together unless one of these of the first moves. */
const CASES: Readonly<Record<string, Readonly<Record<string, readonly Case[]>>>> = {
  WeightSum: {
    lower: [{ rows: (random) => [row('WeightSum', { lower: 0.8 + 0.2 * random() }), capped(0.06)] }],
    upper: [{ rows: (random) => [row('WeightSum', { lower: 0, upper: 0.3 * random() }), held(random)] }],
  },
  PositionBounds: {
    lower: [{ rows: (random) => [row('PositionBounds', { lower: 0.09 + 0.1 * random() })] }, { rows: (random) => [row('PositionBounds', { lower: 0.2 + random() / 10, identifiers: ['N000'] }), level(random)] }],
    upper: [{ rows: (random) => [capped(0.08 * random())] }],
  },
  RelativePositionBounds: {
    lower: [{ rows: (random) => [row('RelativePositionBounds', { lower: 1.1 + random(), upper: 3 })] }],
    upper: [{ rows: (random) => [row('RelativePositionBounds', { upper: 0.9 * random() })] }],
  },
  ActiveBounds: {
    lower: [{ rows: (random) => [row('ActiveBounds', { lower: 0.03 * random() + 0.001, upper: 1 })] }],
    upper: [{ rows: (random) => [row('ActiveBounds', { lower: -1, upper: -0.03 * random() - 0.001 })] }],
  },
  GroupBounds: {
    lower: [{ rows: (random) => [row('GroupBounds', { field: 'SECTOR', lower: 0.21 + 0.2 * random() })] }],
    upper: [{ rows: (random) => [row('GroupBounds', { field: 'SECTOR', upper: 0.19 * random() })] }],
  },
  ActiveGroupBounds: {
    lower: [{ rows: (random) => [row('ActiveGroupBounds', { field: 'SECTOR', lower: 0.1 * random() + 0.01, upper: 1 })] }],
    upper: [{ rows: (random) => [row('ActiveGroupBounds', { field: 'SECTOR', lower: -1, upper: -0.1 * random() - 0.01 })] }],
  },
  Turnover: { limit: [{ rows: (random) => [row('Turnover', { limit: 0.05 * random(), reference: 'index' }), level(random)] }, { rows: (random) => [row('Turnover', { limit: 0.05 * random(), reference: 'previous' }), level(random)] }] },
  TradeSize: { upper: [{ rows: (random) => [row('TradeSize', { upper: 0.02 * random(), reference: 'index' }), level(random)] }] },
  TrackingError: { limit: [{ rows: (random) => [row('TrackingError', { limit: 0.002 * random() }), level(random)] }] },
  Volatility: { limit: [{ rows: (random) => [row('Volatility', { limit: 0.02 * random() })] }] },
  ActiveShare: { limit: [{ rows: (random) => [row('ActiveShare', { limit: 0.05 * random() }), level(random)] }] },
  EffectiveNumber: { minimum: [{ rows: (random) => [row('EffectiveNumber', { minimum: 12.1 + 20 * random() })] }, { rows: (random) => [row('EffectiveNumber', { minimum: 9 + 2 * random() }), row('GroupBounds', { field: 'SECTOR', groups: ['S1'], lower: 0.7 })] }] },
  FactorExposure: {
    lower: [{ rows: (random) => [row('FactorExposure', { field: 'X', lower: 2 + 3 * random() }), capped(0.2)] }, { rows: (random) => [row('FactorExposure', { field: 'GAPS', lower: 90 + 50 * random(), standardise: false, active: true })] }],
    upper: [{ rows: (random) => [row('FactorExposure', { field: 'X', upper: -2 - 3 * random() }), capped(0.2)] }, { rows: (random) => [row('FactorExposure', { field: 'X', upper: 3 * random(), standardise: false }), capped(0.3)] }],
  },
  WeightedAverage: { lower: averages('lower', (random) => 0.3 + 0.6 * random()), upper: averages('upper', (random) => 0.3 + 0.6 * random()) },
  Beta: {
    lower: [{ rows: (random) => [row('Beta', { lower: 3 + 5 * random() }), level(random)] }],
    upper: [{ rows: (random) => [row('Beta', { upper: -3 + 2 * random() }), level(random)] }],
  },
  Liquidity: {
    participation: [{ rows: (random) => [row('Liquidity', { notional: 1e10, participation: 0.005 + 0.005 * random(), days: 250 }), capped(0.11)] }],
    days: [{ rows: (random) => [row('Liquidity', { notional: 1e10, participation: 1, days: 0.2 + 0.2 * random() }), capped(0.12)] }],
    notional: [{ rows: (random) => [row('Liquidity', { notional: 1e11 * (1 + random()) }), capped(0.12)] }],
  },
  LinearConstraint: {
    lower: [{ rows: (random) => [row('LinearConstraint', { coefficients: { N000: 1, N003: 2, N004: -1 }, lower: 0.6 + random() }), capped(0.15)] }],
    upper: [{ rows: (random) => [row('LinearConstraint', { coefficients: { N000: 1, N003: 2, N004: -1 }, upper: -0.3 - random() }), capped(0.15)] }],
  },
  Cardinality: {
    minimum: [{ rows: () => [row('Cardinality', { minimum: 11, maximum: 12 }), row('Exclude', { identifiers: ['N000', 'N001', 'N002'] })] }],
    maximum: [{ rows: (random) => [row('Cardinality', { maximum: 1 + Math.floor(3 * random()) }), capped(0.2)] }],
  },
  MinimumHolding: { threshold: [{ rows: (random) => [row('MinimumHolding', { threshold: 0.15 + 0.3 * random() }), row('Cardinality', { minimum: 8, maximum: 12 })] }] },
  GroupCardinality: {
    minimum: [{ rows: () => [row('GroupCardinality', { field: 'SECTOR', groups: ['S0'], minimum: 3, maximum: 3 }), row('Exclude', { identifiers: ['N000', 'N005'] })] }],
    maximum: [{ rows: (random) => [row('GroupCardinality', { field: 'SECTOR', maximum: 1 }), capped(0.11 + 0.05 * random())] }],
  },
  Concentration5_10_40: { 'single trigger aggregate': [{ names: 6, rows: () => [row('Concentration5_10_40', SIX)] }] },
  ConcentrationRIC: { 'single trigger aggregate': [{ names: 6, rows: () => [row('ConcentrationRIC', SIX)] }] },
};

/** Numbers that define what is measured instead of limiting it, and those that every class has. */
const NO_LIMITS = new Set(['window', 'soft', 'priority']);

function numbersOf({ params }: { readonly params: z.ZodObject }): string[] {
  const { properties } = z.toJSONSchema(params, { io: 'input' }) as { properties: Record<string, object> };
  return Object.entries(properties).flatMap(([name, schema]) => (!NO_LIMITS.has(name) && /"type":"?\[?"?(number|integer)/.test(JSON.stringify(schema)) && name !== 'coefficients' ? [name] : []));
}

interface Trial extends Required<Pick<Case, 'names'>> {
  readonly seed: number;
}

const problemOf = (rows: readonly Row[], trial: Trial) => smallProblem({ ...trial, rows, hasPrevious: true });
const isFeasible = (rows: readonly Row[], trial: Trial) => solveProblem(solvers, problemOf(rows, trial), { wanted: 'any' }).kind === 'solved';
const withParameter = (rows: readonly Row[], index: number | null, parameter: string, to: number): Row[] =>
  rows.map((each, i) => (i === index ? { ...each, params: { ...each.params, [parameter]: to } } : each));

function explained(rows: readonly Row[], trial: Trial): Infeasibility | undefined {
  const problem = problemOf(rows, trial);
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind === 'solved') return undefined;
  return outcome.kind === 'no-choice' ? explainChoice(solvers, problem, outcome.isProven) : explainInfeasibility(solvers, problem);
}

describe('relaxations of every class', () => {
  test('every number of every class that limits something has a case', () => {
    const expected = Object.fromEntries(CONSTRAINT_CLASSES.map((entry) => [entry.type, numbersOf(entry)] as const).filter(([, names]) => names.length > 0));
    expect(Object.fromEntries(Object.entries(CASES).map(([type, parameters]) => [type, Object.keys(parameters).flatMap((names) => names.split(' ')).toSorted()]))).toEqual(
      Object.fromEntries(Object.entries(expected).map(([type, names]) => [type, names.toSorted()])),
    );
  });

  const all = Object.entries(CASES).flatMap(([type, parameters]) => Object.entries(parameters).flatMap(([parameter, cases]) => cases.map((each, i) => ({ type, parameter, each, i }))));
  test.each(all)('$type gives way by $parameter ($i): it is offered, it is enough, and less is not', ({ type, parameter, each: { rows: draw, names = 12 }, i }) => {
    const random = seeded(1000 + i);
    const trials = draw(random).some((each) => CONSTRAINT_CLASSES.some((entry) => entry.type === each.type && !entry.convex)) ? 1 : 6;
    for (let trial = 0; trial < trials; trial++) {
      const market = { names, seed: trial + 1 };
      const rows = draw(random);
      const detail = explained(rows, market);
      const place = `${type} ${parameter} ${trial} ${JSON.stringify(rows)}`;
      expect(detail, place).toBeDefined();
      expect(detail!.relaxations.map(({ index, parameter: moved }) => `${index} ${moved}`), place).toEqual(expect.arrayContaining(parameter.split(' ').map((name) => `0 ${name}`)));
      for (const { index, parameter: moved, from, to } of detail!.relaxations) {
        expect(isFeasible(withParameter(rows, index, moved, to), market), `${place}: ${moved} of ${index} to ${to}`).toBe(true);
        const isWhole = Number.isInteger(from) && Number.isInteger(to) && ['minimum', 'maximum'].includes(moved) && type !== 'EffectiveNumber';
        const less = isWhole ? to - Math.sign(to - from) : from + 0.99 * (to - from);
        expect(isFeasible(withParameter(rows, index, moved, less), market), `${place}: ${moved} of ${index} only to ${less}, not ${to}`).toBe(false);
      }
    }
  }, 60_000);
});

/** Two names of one weight, one variance and no correlation, with CARBON 10 and 20 (and BAD without any in `GAPS`). */
function carbon(rows: readonly Row[], values = [10, 20]) {
  const n = values.length;
  const matrix = Float64Array.from({ length: n * n }, (_, k) => (k % (n + 1) === 0 ? 0.04 : 0));
  return createProblem({
    identifiers: ['CLEAN', 'DIRTY', 'UNKNOWN'].slice(0, n),
    index: new Float64Array(n).fill(1 / n),
    previous: null,
    metric: denseMetric(matrix, n),
    rows: rows.map((each) => ConstraintRow.parse(each)),
    datapoints: { numbers: () => Float64Array.from(values), categories: () => values.map(() => null), medianValueTraded: () => new Float64Array(n) },
  });
}

describe('a weighted average that nothing reaches', () => {
  const average = (params: object, values?: number[], ...others: Row[]) => explainInfeasibility({ ...solvers, algebra: plainAlgebra }, carbon([row('WeightedAverage', { field: 'CARBON', ...params }), ...others], values))!.relaxations;

  test('of ten and twenty, an upper bound of five gives way to ten and a lower one of thirty to twenty', () => {
    expect(average({ upper: 5 })).toMatchObject([{ index: 0, type: 'WeightedAverage', parameter: 'upper', from: 5, to: 10, change: 5 }]);
    expect(average({ lower: 30 })).toMatchObject([{ index: 0, parameter: 'lower', from: 30, to: 20, change: -10 }]);
  });

  test('a multiple of the index average of fifteen gives way to two thirds', () => {
    expect(average({ upper: 0.5, relative: true })).toMatchObject([{ parameter: 'upper', from: 0.5 }]);
    expect(average({ upper: 0.5, relative: true })[0]!.to).toBeCloseTo(2 / 3, 8);
    expect(average({ lower: 2, relative: true })[0]!.to).toBeCloseTo(4 / 3, 8);
  });

  test('a multiple of a negative average gives way downward', () => {
    // Of -10 and -20 the average is -15; at most twice that is -30, which gives way to -20 at 4/3.
    expect(average({ upper: 2, relative: true }, [-10, -20])[0]).toMatchObject({ parameter: 'upper', from: 2 });
    expect(average({ upper: 2, relative: true }, [-10, -20])[0]!.to).toBeCloseTo(4 / 3, 8);
  });

  test('a name without a value counts as nought, or is left out of the average', () => {
    // At most a third in each: nought, 10 and 20 have the average 10; without the unknown name it is 15.
    const third = row('PositionBounds', { upper: 1 / 3 });
    const to = (missing: string) => average({ upper: 5, missing }, [10, 20, Number.NaN], third).find(({ index }) => index === 0)!.to;
    expect(to('zero')).toBeCloseTo(10, 7);
    expect(to('renormalise')).toBeCloseTo(15, 7);
  });
});
