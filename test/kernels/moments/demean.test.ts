import { expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { demean } from '#kernels/moments/sample-covariance.js';

test('removes the mean of each column and divides the squares by one less than the number of observations', () => {
  const x = Float64Array.of(1, 10, 2, 20, 6, 30);
  const means = new Float64Array(2);
  const { rowFactors, dispersion, variances } = demean(x, 2, undefined, means);
  expect([...means]).toEqual([3, 20]);
  expect([...x]).toEqual([-2, -10, -1, 0, 3, 10].map((deviation) => deviation * Math.SQRT1_2));
  for (const [i, variance] of [7, 100].entries()) expect(variances[i]).toBeCloseTo(variance, 13);
  expect([...rowFactors]).toEqual([0.5, 0.5, 0.5]);
  expect(dispersion).toBe(0.5);
});

test('equal weights are the unweighted case', () => {
  const x = Float64Array.of(1, 2, 6);
  const { rowFactors, dispersion, variances } = demean(x, 1, Float64Array.of(1 / 3, 1 / 3, 1 / 3), new Float64Array(1));
  for (const factor of rowFactors) expect(factor).toBeCloseTo(0.5, 14);
  expect(dispersion).toBeCloseTo(0.5, 14);
  expect(x[0]).toBeCloseTo(-2 * Math.SQRT1_2, 14);
  expect(variances[0]).toBeCloseTo(7, 13);
});

test('refuses a single observation and weights of another length', () => {
  expect(() => demean(Float64Array.of(1, 2), 2, undefined, new Float64Array(2))).toThrow(KernelFault);
  expect(() => demean(Float64Array.of(1, 2), 1, Float64Array.of(1), new Float64Array(1))).toThrow(KernelFault);
});
