import { describe, expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createCurvature } from '#kernels/optimisation/factors/curvature.js';
import {
  createDenseMetric,
  createFactorMetric,
  createMetricMatrix,
  type Metric,
} from '#kernels/optimisation/program/metric.js';
import { seeded } from '../../../seeded.js';

const N = 24;
const random = seeded(7);
const createLoadedMetric = (factors: number) =>
  createFactorMetric(
    Float64Array.from({ length: N * factors }, () => random() - 0.5),
    Float64Array.from({ length: N }, () => 0.1 + random()),
  );
const wholeMatrix = createMetricMatrix(createLoadedMetric(5));
const blockMatrix = wholeMatrix.map((value, e) => (e % (N + 1) !== 0 && (e % N > 20 || e > 21 * N) ? 0 : value));
const METRICS: readonly (readonly [string, Metric])[] = [
  ['a matrix', createDenseMetric(wholeMatrix, N)],
  ['a matrix with names that covary with none', createDenseMetric(blockMatrix, N)],
  ['few loadings', createLoadedMetric(3)],
  ['many loadings', createLoadedMetric(20)],
];

describe('the factored curvature of free securities', () => {
  test.each(METRICS)('solves with scale P + diagonal: %s', (_, metric) => {
    const freePositions = Int32Array.from({ length: N }, (__, i) => i).filter((i) => i % 4 !== 1);
    const diagonal = Float64Array.from({ length: N }, () => random());
    const curvature = createCurvature(plainAlgebra);
    expect(curvature.factor(metric, 1.7, diagonal, freePositions, freePositions.length)).toBe(true);
    const columns = 3;
    const b = Float64Array.from({ length: freePositions.length * columns }, () => random() - 0.5);
    const x = b.slice();
    curvature.solve(x, columns);
    const matrix = createMetricMatrix(metric);
    for (let p = 0; p < freePositions.length; p++)
      for (let c = 0; c < columns; c++) {
        let total = diagonal[freePositions[p]!]! * x[p * columns + c]!;
        for (let q = 0; q < freePositions.length; q++)
          total += 1.7 * matrix[freePositions[p]! * N + freePositions[q]!]! * x[q * columns + c]!;
        expect(total).toBeCloseTo(b[p * columns + c]!, 11);
      }
  });

  test.each([...METRICS, ['no covariance', null] as const])('has the products of many columns: %s', (_, metric) => {
    const freePositions = Int32Array.from({ length: N }, (__, i) => i).filter((i) => i % 4 !== 1);
    const curvature = createCurvature(plainAlgebra);
    expect(curvature.factor(metric, 1.7, new Float64Array(N).fill(0.8), freePositions, freePositions.length)).toBe(
      true,
    );
    const columns = 70;
    const c = Float64Array.from({ length: freePositions.length * columns }, () => random() - 0.5);
    const [solved, expected, products] = [c.slice(), c.slice(), new Float64Array(columns * columns)];
    curvature.solveWithProducts(c, columns, solved, products);
    curvature.solve(expected, columns);
    solved.forEach((value, e) => expect(value).toBeCloseTo(expected[e]!, 12));
    for (let a = 0; a < columns; a++)
      for (let b = 0; b <= a; b++) {
        let total = 0;
        for (let p = 0; p < freePositions.length; p++) total += c[p * columns + a]! * expected[p * columns + b]!;
        expect(products[a * columns + b]).toBeCloseTo(total, 11);
      }
  });
});
