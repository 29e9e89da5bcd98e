import { expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeSaliencies } from '#kernels/optimisation/factors/saliency.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { createRandomProgram } from '../random-programs.js';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';

test('a saliency is the cost of dropping the security if only the budget constrains the others', () => {
  const n = 6;
  const matrix = Float64Array.from({ length: n * n }, (_, e) =>
    Math.floor(e / n) === e % n ? 0.05 + 0.01 * (e % n) : 0.02,
  );
  const metric = createDenseMetric(matrix, n);
  const centre = Float64Array.of(0.3, 0.2, 0.1, 0.15, 0.05, 0.2);
  const positions = Int32Array.from(centre.keys());
  const cost = computeSaliencies(plainAlgebra, metric, positions, centre);
  const solver = createSolver(plainAlgebra);
  const bounds = { lower: new Float64Array(n).fill(-Infinity), upper: new Float64Array(n).fill(Infinity) };
  const rows = {
    count: 1,
    coefficients: new Float64Array(n).fill(1),
    lower: Float64Array.of(1),
    upper: Float64Array.of(1),
    penalty: Float64Array.of(Infinity),
  };
  for (const i of positions) {
    const lower = bounds.lower.slice();
    const upper = bounds.upper.slice();
    lower[i] = upper[i] = 0;
    const program = {
      ...createRandomProgram(1),
      n,
      metric,
      centre,
      linear: new Float64Array(n),
      lower,
      upper,
      rows,
      kinks: [],
      norms: [],
      curvature: 1,
      ridge: 0,
    };
    const { point } = solver.solve(program);
    let variance = 0;
    for (let a = 0; a < n; a++)
      for (let b = 0; b < n; b++)
        variance += (point.x[a]! - centre[a]!) * matrix[a * n + b]! * (point.x[b]! - centre[b]!);
    expect(cost[i]! / (variance / 2)).toBeCloseTo(1, 8);
  }
});

test('a single security cannot be dropped', () => {
  expect(
    computeSaliencies(
      plainAlgebra,
      createDenseMetric(Float64Array.of(0.04), 1),
      Int32Array.of(0),
      Float64Array.of(1),
    )[0],
  ).toBe(Infinity);
});
