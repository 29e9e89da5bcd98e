import { describe, expect, test } from 'vitest';
import { createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { createProblem, type Problem } from '#domain/optimisation/problem.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { buildProblem, solvers } from '../optimisation/small-problems.js';

const NAMES = 20;

interface World {
  readonly w: number[];
  readonly b: number[];
  readonly previous: number[];
  readonly values: number[];
  readonly returns: number[];
  readonly sigma: number[][];
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const computeL1Distance = (a: readonly number[], b: readonly number[]) =>
  sum(a.map((value, i) => Math.abs(value - b[i]!)));
const computeVariance = (d: readonly number[], sigma: readonly (readonly number[])[]) =>
  sum(d.map((x, i) => x * sum(d.map((y, j) => sigma[i]![j]! * y))));
const subtractVectors = (a: readonly number[], b: readonly number[]) => a.map((value, i) => value - b[i]!);
const readSector = (w: readonly number[], s: number) => sum(w.filter((_, i) => i % 5 === s));
const computeZScores = (values: readonly number[]) => {
  const mean = sum(values) / values.length;
  const deviation = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / values.length);
  return values.map((value) => (value - mean) / deviation);
};
const computeDotProduct = (a: readonly number[], b: readonly number[]) => sum(a.map((value, i) => value * b[i]!));

/**
 * Meaning of each class: its quantities and their permitted range, computed only from the weights. If a row binds, the
 * quantity is at one end of its range.
 */
const MEANINGS: [
  string,
  Record<string, unknown>,
  (world: World) => { value: number; least?: number; most?: number }[],
][] = [
  ['FullInvestment', {}, ({ w }) => [{ value: sum(w), least: 1, most: 1 }]],
  ['WeightSum', { lower: 0.9, upper: 0.95 }, ({ w }) => [{ value: sum(w), least: 0.9, most: 0.95 }]],
  ['LongOnly', {}, ({ w }) => w.map((value) => ({ value, least: 0 }))],
  ['PositionBounds', { lower: 0.01, upper: 0.08 }, ({ w }) => w.map((value) => ({ value, least: 0.01, most: 0.08 }))],
  [
    'PositionBounds',
    { lower: -0.05, upper: -0.01, identifiers: ['N002'] },
    ({ w }) => [{ value: w[2]!, least: -0.05, most: -0.01 }],
  ],
  [
    'RelativePositionBounds',
    { lower: 1.2, upper: 3, identifiers: ['N004', 'N005'] },
    ({ w, b }) => [4, 5].map((i) => ({ value: w[i]!, least: 1.2 * b[i]!, most: 3 * b[i]! })),
  ],
  [
    'ActiveBounds',
    { lower: 0.02, upper: 0.03, identifiers: ['N001'] },
    ({ w, b }) => [{ value: w[1]! - b[1]!, least: 0.02, most: 0.03 }],
  ],
  [
    'GroupBounds',
    { field: 'SECTOR', lower: 0.15, upper: 0.25 },
    ({ w }) => [0, 1, 2, 3, 4].map((s) => ({ value: readSector(w, s), least: 0.15, most: 0.25 })),
  ],
  [
    'ActiveGroupBounds',
    { field: 'SECTOR', groups: ['S3'], lower: 0.04, upper: 0.1 },
    ({ w, b }) => [{ value: readSector(w, 3) - readSector(b, 3), least: 0.04, most: 0.1 }],
  ],
  [
    'ActiveGroupBounds',
    // S3 is a small group, so its maximum is 1.3 times its index weight.
    { field: 'SECTOR', groups: ['S3'], lower: 0.02, upper: 0.02, small_group: { below: 1, multiple: 1.3 } },
    ({ w, b }) => [{ value: readSector(w, 3), least: readSector(b, 3) + 0.02, most: 1.3 * readSector(b, 3) }],
  ],
  [
    'RelativeGroupBounds',
    { field: 'SECTOR', groups: ['S3'], lower: 1.2, upper: 3 },
    ({ w, b }) => [{ value: readSector(w, 3), least: 1.2 * readSector(b, 3), most: 3 * readSector(b, 3) }],
  ],
  [
    'Turnover',
    { limit: 0.2, reference: 'previous' },
    ({ w, previous }) => [{ value: computeL1Distance(w, previous) / 2, most: 0.2 }],
  ],
  [
    'TradeSize',
    { upper: 0.03, reference: 'previous' },
    ({ w, previous }) => w.map((value, i) => ({ value: Math.abs(value - previous[i]!), most: 0.03 })),
  ],
  ['Volatility', { limit: 0.1 }, ({ w, sigma }) => [{ value: Math.sqrt(computeVariance(w, sigma)), most: 0.1 }]],
  [
    'Volatility',
    { limit: 0.8, relative: true },
    ({ w, b, sigma }) => [
      { value: Math.sqrt(computeVariance(w, sigma)) / Math.sqrt(computeVariance(b, sigma)), most: 0.8 },
    ],
  ],
  ['EffectiveNumber', { minimum: 15 }, ({ w }) => [{ value: 1 / sum(w.map((value) => value * value)), least: 15 }]],
  [
    'FactorExposure',
    { field: 'X', lower: 0.4 },
    ({ w, values }) => [{ value: computeDotProduct(w, computeZScores(values)), least: 0.4 }],
  ],
  [
    'FactorExposure',
    { field: 'X', upper: -5, standardise: false, active: true },
    ({ w, b, values }) => [{ value: computeDotProduct(subtractVectors(w, b), values), most: -5 }],
  ],
  [
    'WeightedAverage',
    { field: 'X', upper: 35 },
    ({ w, values }) => [{ value: computeDotProduct(w, values) / sum(w), most: 35 }],
  ],
  [
    'WeightedAverage',
    { field: 'X', lower: 1.2, relative: true },
    ({ w, b, values }) => [{ value: computeDotProduct(w, values) / sum(w), least: 1.2 * computeDotProduct(b, values) }],
  ],
  [
    'Beta',
    { lower: 1.05, upper: 1.1 },
    ({ w, b, sigma }) => [
      {
        value: sum(w.map((x, i) => x * computeDotProduct(sigma[i]!, b))) / computeVariance(b, sigma),
        least: 1.05,
        most: 1.1,
      },
    ],
  ],
  ['ExpectedReturn', { lower: 0.09 }, ({ w, returns }) => [{ value: computeDotProduct(w, returns), least: 0.09 }]],
  [
    'Liquidity',
    { notional: 1e9, participation: 0.5, days: 2 },
    ({ w, previous, values }) =>
      w.map((value, i) => ({ value: Math.abs(value - previous[i]!), most: (0.5 * 2 * 1e6 * values[i]!) / 1e9 })),
  ],
  [
    'LinearConstraint',
    { coefficients: { N000: 2, N001: -1 }, lower: 0.3, upper: 0.5 },
    ({ w }) => [{ value: 2 * w[0]! - w[1]!, least: 0.3, most: 0.5 }],
  ],
  ['Exclude', { identifiers: ['N003'] }, ({ w }) => [{ value: w[3]!, least: 0, most: 0 }]],
  [
    'Freeze',
    { identifiers: ['N006'], reference: 'previous' },
    ({ w, previous }) => [{ value: w[6]!, least: previous[6]!, most: previous[6]! }],
  ],
];

function createWorld(problem: Problem, weights: Float64Array): World {
  const matrix = createMetricMatrix(problem.metric);
  const values = computeProblemValues(problem);
  return {
    w: [...weights],
    b: [...problem.index],
    previous: [...problem.previous!.weights],
    values,
    returns: [...problem.expectedReturns!],
    sigma: Array.from({ length: NAMES }, (_, i) => [...matrix.subarray(i * NAMES, i * NAMES + NAMES)]),
  };
}

/** Returns the datapoint values of the small market, read from the coefficients of a row. */
function computeProblemValues({ rows }: Problem): number[] {
  const row = rows.at(-1)!.row;
  return row.form === 'linear' ? [...row.coefficients] : [];
}

/** Classes that are tested below or in another file. */
const TYPES_OF_OTHER_TESTS = ['GrossExposure', 'ActiveShare', 'TrackingError', 'CVaR', 'CDaR'];

test('every convex class has a meaning', () => {
  const convexTypes = CONSTRAINT_CLASSES.flatMap(({ type, convex: isConvex }) => (isConvex ? [type] : []));
  const list = new Set([...MEANINGS.map(([type]) => type), ...TYPES_OF_OTHER_TESTS]);
  expect(convexTypes.filter((type) => !list.has(type))).toEqual([]);
});

describe('the rows of a class agree with its definition', () => {
  test.each(MEANINGS)('%s %j', (type, params, meaning) => {
    const reading = { id: 'reading', type: 'FactorExposure', params: { field: 'X', lower: -1e6, standardise: false } };
    const problem = buildProblem({ names: NAMES, seed: 21, hasPrevious: true, rows: [{ type, params }] });
    const shownProblem = buildProblem({
      names: NAMES,
      seed: 21,
      hasPrevious: true,
      rows: [
        { type: 'WeightSum', params: { lower: 0, upper: 1 } },
        { type: 'PositionBounds', params: { lower: -1, upper: 1 } },
        reading,
      ],
    });
    const outcome = solveProblem(solvers, problem);
    if (outcome.kind !== 'solved') throw new Error(outcome.kind);
    const ranges = meaning({
      ...createWorld(problem, outcome.solution.weights),
      values: computeProblemValues(shownProblem),
    });
    for (const { value, least = -Infinity, most = Infinity } of ranges) {
      expect(value).toBeGreaterThanOrEqual(least - 1e-8);
      expect(value).toBeLessThanOrEqual(most + 1e-8);
    }
    const isFree = type === 'FullInvestment' || type === 'LongOnly';
    const isAtEnd = ranges.some(
      ({ value, least, most }) =>
        Math.abs(value - (least ?? Infinity)) < 1e-7 || Math.abs(value - (most ?? Infinity)) < 1e-7,
    );
    if (!isFree) expect(isAtEnd).toBe(true);
  });

  test('an active share below the one of the nearest weights binds at its limit', () => {
    const exposure = { type: 'FactorExposure', params: { field: 'X', lower: 0.4 } };
    const computeShare = (rows: object[]) => {
      const problem = buildProblem({ names: NAMES, seed: 21, rows });
      const outcome = solveProblem(solvers, problem);
      if (outcome.kind !== 'solved') throw new Error(outcome.kind);
      return computeL1Distance([...outcome.solution.weights], [...problem.index]) / 2;
    };
    const limit = 0.95 * computeShare([exposure]);
    expect(computeShare([exposure, { type: 'ActiveShare', params: { limit } }])).toBeCloseTo(limit, 10);
  });

  test('the absolute weights add up to the limit on gross exposure, and to more at a low price', () => {
    const computeGross = (params?: object) => {
      const outcome = solveProblem(
        solvers,
        buildProblem({
          names: NAMES,
          seed: 21,
          objective: { type: 'max_utility', risk_aversion: 2 },
          rows: [
            { type: 'PositionBounds', params: { lower: -0.5, upper: 1 } },
            ...(params === undefined ? [] : [{ type: 'GrossExposure', params }]),
          ],
        }),
      );
      if (outcome.kind !== 'solved') throw new Error(outcome.kind);
      const weights = [...outcome.solution.weights];
      expect(sum(weights)).toBeCloseTo(1, 10);
      return sum(weights.map(Math.abs));
    };
    const freeGross = computeGross();
    expect(freeGross).toBeGreaterThan(2);
    // With a limit of 1 no weight is negative.
    for (const upper of [1, 1.3, 2]) {
      expect(computeGross({ upper })).toBeCloseTo(upper, 8);
      expect(computeGross({ upper, soft: 1e3 })).toBeCloseTo(upper, 6);
      expect(computeGross({ upper, soft: 1e-9 })).toBeCloseTo(freeGross, 5);
    }
    expect(computeGross({ upper: freeGross + 0.1 })).toBeCloseTo(freeGross, 8);
  });

  test.each([
    ['PositionBounds', { upper: 0.08 }],
    ['GroupBounds', { field: 'SECTOR', upper: 0.22 }],
    ['Turnover', { limit: 0.2, reference: 'previous' }],
    ['TradeSize', { upper: 0.05, reference: 'previous' }],
    ['EffectiveNumber', { minimum: 15 }],
    ['WeightedAverage', { field: 'X', upper: 35 }],
    ['ExpectedReturn', { lower: 0.09 }],
  ])('%s %j: soft, it is kept at a high price and given up at a low one', (type, params) => {
    const solveWeightsAt = (softPrice: number | null) => {
      const outcome = solveProblem(
        solvers,
        buildProblem({
          names: NAMES,
          seed: 21,
          hasPrevious: true,
          rows: softPrice === -1 ? [] : [{ type, params: { ...params, soft: softPrice } }],
        }),
      );
      if (outcome.kind !== 'solved') throw new Error(outcome.kind);
      return [...outcome.solution.weights];
    };
    const hardWeights = solveWeightsAt(null);
    const freeWeights = solveWeightsAt(-1);
    expect(computeL1Distance(hardWeights, freeWeights)).toBeGreaterThan(1e-3);
    expect(computeL1Distance(solveWeightsAt(1e3), hardWeights)).toBeLessThan(1e-6);
    expect(computeL1Distance(solveWeightsAt(1e-9), freeWeights)).toBeLessThan(1e-5);
  });

  test('a small group is bounded by a multiple of its index weight, another by its active weight', () => {
    const problem = createProblem({
      identifiers: ['A', 'B', 'C', 'D'],
      index: Float64Array.of(0.5, 0.3, 0.18, 0.02),
      previous: null,
      metric: buildProblem({ names: 4, seed: 1, rows: [] }).metric,
      rows: [
        ConstraintRow.parse({
          type: 'ActiveGroupBounds',
          params: { field: 'COUNTRY', lower: -0.05, upper: 0.05, small_group: { below: 0.025, multiple: 3 } },
        }),
      ],
      datapoints: {
        numbers: () => new Float64Array(4),
        categories: () => ['FR', 'FR', 'DE', 'PT'],
        medianValueTraded: () => new Float64Array(4),
      },
    });
    const bounds = problem.rows.flatMap(({ row }) =>
      row.form === 'linear' && row.member !== null ? [[row.member, row.lower?.value, row.upper?.value]] : [],
    );
    expect(bounds).toEqual([
      ['DE', expect.closeTo(0.13, 12), expect.closeTo(0.23, 12)],
      ['FR', expect.closeTo(0.75, 12), expect.closeTo(0.85, 12)],
      ['PT', expect.closeTo(-0.03, 12), expect.closeTo(0.06, 12)],
    ]);
  });

  test('multiples bound a short group from its larger multiple, and a group without index weight at zero', () => {
    const problem = createProblem({
      identifiers: ['A', 'B', 'C', 'D'],
      index: Float64Array.of(0.7, 0.5, -0.2, 0),
      previous: null,
      metric: buildProblem({ names: 4, seed: 1, rows: [] }).metric,
      rows: [
        ConstraintRow.parse({ type: 'RelativeGroupBounds', params: { field: 'COUNTRY', lower: 0.5, upper: 1.5 } }),
      ],
      datapoints: {
        numbers: () => new Float64Array(4),
        categories: () => ['FR', 'FR', 'DE', 'PT'],
        medianValueTraded: () => new Float64Array(4),
      },
    });
    const bounds = problem.rows.flatMap(({ row }) =>
      row.form === 'linear' && row.member !== null
        ? [[row.member, [...row.coefficients], row.lower?.value, row.upper?.value]]
        : [],
    );
    expect(bounds).toEqual([
      ['DE', [0, 0, 1, 0], expect.closeTo(-0.3, 12), expect.closeTo(-0.1, 12)],
      ['FR', [1, 1, 0, 0], expect.closeTo(0.6, 12), expect.closeTo(1.8, 12)],
      ['PT', [0, 0, 0, 1], 0, 0],
    ]);
  });

  test('a missing datapoint counts as the mean, as zero, or not at all', () => {
    const values = Float64Array.of(10, NaN, 30, 40);
    const index = Float64Array.of(0.4, 0.3, 0.2, 0.1);
    const createRow = (type: string, params: object) => {
      const problem = createProblem({
        identifiers: ['A', 'B', 'C', 'D'],
        index,
        previous: null,
        metric: buildProblem({ names: 4, seed: 1, rows: [] }).metric,
        rows: [ConstraintRow.parse({ type, params })],
        datapoints: { numbers: () => values, categories: () => [], medianValueTraded: () => values },
      });
      const { row } = problem.rows[0]!;
      return { coefficients: row.form === 'linear' ? [...row.coefficients] : [], warnings: problem.warnings };
    };
    expect(createRow('FactorExposure', { field: 'X', upper: 1, standardise: false })).toEqual({
      coefficients: [10, 80 / 3, 30, 40],
      warnings: [
        {
          message: '1 of 4 securities, 30% of the index, have no X; the mean is used instead.',
          path: 'constraints[0].params',
        },
      ],
    });
    const averages = {
      zero: { coefficients: [-15, -25, 5, 15], effect: 'their value is zero' },
      renormalise: { coefficients: [-15, 0, 5, 15], effect: 'they are excluded' },
    };
    for (const [missing, { coefficients, effect }] of Object.entries(averages))
      expect(createRow('WeightedAverage', { field: 'X', upper: 25, missing })).toEqual({
        coefficients,
        warnings: [
          { message: `1 of 4 securities, 30% of the index, have no X; ${effect}.`, path: 'constraints[0].params' },
        ],
      });
  });
});
