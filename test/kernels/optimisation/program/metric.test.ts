import { expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import {
  computeMetricDiagonal,
  computeMetricSquare,
  createDenseMetric,
  createFactorMetric,
  createMetricMatrix,
  multiplyMetric,
} from '#kernels/optimisation/program/metric.js';

const loadings = Float64Array.of(1, 2, 3, 0, -1, 0.5);
const specific = Float64Array.of(0.5, 1, 2);
const factor = createFactorMetric(loadings, specific);

test("loadings and specific variances are the matrix L L' + D", () => {
  expect([...createMetricMatrix(factor)]).toEqual([5.5, 3, 0, 3, 10, -3, 0, -3, 3.25]);
});

test('products, squares and the diagonal are those of the matrix in both forms', () => {
  const denseMetric = createDenseMetric(createMetricMatrix(factor), 3);
  const x = Float64Array.of(1, -2, 4);
  for (const metric of [factor, denseMetric]) {
    const out = new Float64Array(3);
    multiplyMetric(metric, x, out);
    expect([...out]).toEqual([-0.5, -29, 19]);
    expect(computeMetricSquare(metric, x)).toBe(133.5);
    expect([...computeMetricDiagonal(metric)]).toEqual([5.5, 10, 3.25]);
  }
});

test('shapes that do not fit are refused', () => {
  expect(() => createDenseMetric(new Float64Array(5), 2)).toThrow(KernelFault);
  expect(() => createFactorMetric(new Float64Array(5), new Float64Array(2))).toThrow(KernelFault);
});
