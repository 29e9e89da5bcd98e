import { describe, expect, test } from 'vitest';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/optimality.js';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import { computeCornerSlope, solveCorner } from '#kernels/optimisation/simplex.js';
import { seeded } from '../../../seeded.js';
import { createRandomProgram } from '../random-programs.js';
import { createBaseProgram, solver } from '../sample-programs.js';

/** Returns a linear programme that maximises a weighted sum. */
function createLinearProgram(seed: number): Program {
  const program = createRandomProgram(seed, { withNorms: false });
  const random = seeded(1000 + seed);
  return { ...program, curvature: 0, ridge: 0, linear: program.linear.map(() => random() - 0.7) };
}

const programs = Array.from({ length: 150 }, (_, k) => createLinearProgram(k + 1));

test('a corner meets the conditions of optimality, and is found if one exists', () => {
  let corners = 0;
  for (const [k, program] of programs.entries()) {
    const corner = solveCorner(program);
    if (corner === undefined) expect(solver.solve(program).status, `programme ${k}`).not.toBe('solved');
    else {
      expect(isOptimal(checkKkt(program, corner.iterate)), `programme ${k}`).toBe(true);
      corners++;
    }
  }
  expect(corners).toBeGreaterThan(60);
});

/** For two securities, the maximum is at an intersection of two of the bounds, the budget and the row. */
test('for two securities the corner is the best of all intersections', () => {
  const program: Program = {
    ...createBaseProgram(2, () => 0.5),
    curvature: 0,
    ridge: 0,
    linear: Float64Array.of(-3, -2),
    upper: Float64Array.of(1, 1),
    rows: {
      count: 2,
      coefficients: Float64Array.of(1, 1, 4, 1),
      lower: Float64Array.of(0, -Infinity),
      upper: Float64Array.of(1.2, 2.4),
      penalty: Float64Array.of(Infinity, Infinity),
    },
  };
  const corner = solveCorner(program)!;
  expect(corner.iterate.x[0]).toBeCloseTo(0.4, 14); // x + y = 1.2 and 4 x + y = 2.4.
  expect(corner.iterate.x[1]).toBeCloseTo(0.8, 14);
  // 3 = a + 4 b and 2 = a + b
  expect(corner.iterate.rowMultipliers[0]).toBeCloseTo(5 / 3, 14);
  expect(corner.iterate.rowMultipliers[1]).toBeCloseTo(1 / 3, 14);
});

describe('other solvers solve the remaining programmes', () => {
  const linear = programs[0]!;
  test.each<[string, Partial<Program>]>([
    ['what is curved', { curvature: 1 }],
    ['a ridge', { ridge: 1 }],
    ['a norm', { norms: [{ metric: 'identity', centre: linear.centre, radius: 1 }] }],
    ['a soft row', { rows: { ...linear.rows, penalty: linear.rows.penalty.map(() => 1) } }],
    ['a name without a lower bound', { lower: linear.lower.with(0, -Infinity) }],
    [
      'names whose sum has no bound',
      {
        upper: linear.upper.map(() => Infinity),
        rows: {
          count: 0,
          coefficients: new Float64Array(0),
          lower: new Float64Array(0),
          upper: new Float64Array(0),
          penalty: new Float64Array(0),
        },
      },
    ],
  ])('%s', (_, change) => {
    expect(solveCorner({ ...linear, ...change })).toBeUndefined();
  });
});

describe('the slope of the variance at the largest expected return', () => {
  const program: Program = {
    ...createBaseProgram(2, () => 0.5),
    metric: createDenseMetric(Float64Array.of(0.04, 0, 0, 0.09), 2),
    centre: new Float64Array(2),
    curvature: 2,
    ridge: 0,
    upper: new Float64Array(2).fill(Infinity),
  };
  const means = Float64Array.of(0.1, 0.2);
  const findCorner = (of: Program) => {
    const { state, iterate } = solveCorner({ ...of, curvature: 0, linear: means.map((mean) => -mean) })!;
    return { state, point: iterate };
  };

  // With w = (m - 0.1) / 0.1 in the second security, the variance is 0.04 (1 - w)^2 + 0.09 w^2. At w = 1 it rises by
  // 0.18 / 0.1.
  test('of two securities', () => {
    expect(computeCornerSlope(program, findCorner(program), means)).toBeCloseTo(1.8, 12);
  });

  test('zero where it falls', () => {
    const falling = {
      ...program,
      metric: createDenseMetric(Float64Array.of(0.04, 0.06, 0.06, 0.09), 2),
      centre: Float64Array.of(0, 2),
    };
    expect(computeCornerSlope(falling, findCorner(falling), means)).toBe(0);
  });

  test('not reported where active rows repeat each other', () => {
    const { rows } = program;
    const repeatValues = (values: Float64Array) => Float64Array.of(...values, ...values);
    const repeatedProgram = {
      ...program,
      rows: {
        count: 2,
        coefficients: repeatValues(rows.coefficients),
        lower: repeatValues(rows.lower),
        upper: repeatValues(rows.upper),
        penalty: repeatValues(rows.penalty),
      },
    };
    expect(computeCornerSlope(repeatedProgram, findCorner(repeatedProgram), means)).toBeUndefined();
  });
});
