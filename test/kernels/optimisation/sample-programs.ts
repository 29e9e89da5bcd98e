import { expect } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createDenseMetric, createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import type { Point, Program } from '#kernels/optimisation/program/program.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { certify } from './duality-gap.js';
import { createRandomProgram } from './random-programs.js';

export const solver = createSolver(plainAlgebra);

export function requireSolution(program: Program) {
  const answer = solver.solve(program);
  expect(answer.status, JSON.stringify(answer.kkt)).toBe('solved');
  return answer;
}

/**
 * Checks by duality that no feasible point is better. It does not use the solver's own check of optimality. The
 * tolerance is relative to the variance of a typical security.
 */
export function expectCertified(program: Program, point: Point, label: string): void {
  const { gap, violation } = certify(program, point);
  expect(violation, label).toBeLessThan(2e-9);
  expect(gap, label).toBeLessThan(
    1e-8 * createMetricMatrix(program.metric!).reduce((largest, value) => Math.max(largest, value), 0),
  );
}

export const computeLargestGap = (a: Float64Array, b: ArrayLike<number>) =>
  a.reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i]!)), 0);

/** Random solvable programmes without norms. */
const samples = Array.from({ length: 120 }, (_, k) =>
  createRandomProgram(k + 1, { withNorms: false, namesMax: 20 }),
).filter((program) => solver.solve(program).status === 'solved');

/** The sample programmes with other covariances, which make the solution unique. */
export const regularSamples = samples.map((program) => {
  const matrix = createMetricMatrix(program.metric!).slice();
  for (let i = 0; i < program.n; i++) matrix[i * program.n + i]! += 0.01;
  return { ...program, metric: createDenseMetric(matrix, program.n) };
});

/** Returns the base programme with many rows. The budget is the first row. The other rows have random coefficients. */
export function createProgramAmongRows(n: number, otherRows: number, random: () => number) {
  const baseProgram = createBaseProgram(n, random);
  const count = 1 + otherRows;
  const coefficients = new Float64Array(count * n).fill(1, 0, n);
  for (let e = n; e < coefficients.length; e++) coefficients[e] = random() - 0.5;
  return { plain: baseProgram, count, coefficients };
}

/** Returns a long-only programme with a budget and a cap. */
export function createBaseProgram(
  n: number,
  random: () => number,
): Omit<Program, 'kinks' | 'norms' | 'curvature' | 'ridge'> & { kinks: []; norms: [] } {
  const raw = Float64Array.from({ length: n }, () => random());
  const total = raw.reduce((sum, value) => sum + value, 0);
  return {
    n,
    metric: createDenseMetric(
      Float64Array.from({ length: n * n }, (_, e) => (Math.floor(e / n) === e % n ? 0.04 + 0.001 * (e % n) : 0.01)),
      n,
    ),
    centre: raw.map((value) => value / total),
    linear: new Float64Array(n),
    lower: new Float64Array(n),
    upper: new Float64Array(n).fill(1.5 / n),
    rows: {
      count: 1,
      coefficients: new Float64Array(n).fill(1),
      lower: Float64Array.of(1),
      upper: Float64Array.of(1),
      penalty: Float64Array.of(Infinity),
    },
    kinks: [],
    norms: [],
  };
}
