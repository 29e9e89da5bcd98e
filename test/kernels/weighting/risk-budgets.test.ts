import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import {
  createDenseMetric,
  createFactorMetric,
  createMetricMatrix,
  type Metric,
  multiplyMetric,
} from '#kernels/optimisation/program/metric.js';
import { solveEqualRiskWeights, solveRiskBudgetWeights } from '#kernels/weighting/risk-budgets.js';
import { seeded } from '../../seeded.js';

function createRandomFactors(seed: number, n: number, k: number): Metric {
  const random = seeded(seed);
  return createFactorMetric(
    Float64Array.from({ length: n * k }, () => 0.3 * (random() - 0.4)),
    Float64Array.from({ length: n }, () => 0.005 + 0.1 * random()),
  );
}

function computeWeights(metric: Metric, budgets: Float64Array): Float64Array {
  const out = new Float64Array(metric.n);
  expect(solveRiskBudgetWeights(plainAlgebra, metric, budgets, out)).toBe(true);
  return out;
}

function computeShares(metric: Metric, weights: Float64Array): Float64Array {
  const product = new Float64Array(metric.n);
  multiplyMetric(metric, weights, product);
  const variance = weights.reduce((sum, weight, i) => sum + weight * product[i]!, 0);
  return weights.map((weight, i) => (weight * product[i]!) / variance);
}

describe('contributions to the variance are the budgets', () => {
  test.each([
    [1, 1],
    [2, 3],
    [30, 4],
    [60, 90],
    [200, 5],
  ])('of %i securities on %i factors, as loadings and as a matrix', (n, k) => {
    const random = seeded(n);
    const raw = Float64Array.from({ length: n }, () => 0.01 + random() ** 4);
    const total = raw.reduce((sum, value) => sum + value, 0);
    const budgets = raw.map((value) => value / total);
    const factors = createRandomFactors(n + k, n, k);
    for (const metric of [factors, createDenseMetric(createMetricMatrix(factors), n)]) {
      const weights = computeWeights(metric, budgets);
      expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 13);
      computeShares(metric, weights).forEach((share, i) =>
        expect(Math.abs(share / budgets[i]! - 1)).toBeLessThan(1e-10),
      );
    }
  });

  test('if securities are correlated by 0.99 and volatilities differ a hundredfold', () => {
    const n = 12;
    const deviations = Float64Array.from({ length: n }, (_, i) => 0.02 * 100 ** (i / (n - 1)));
    const matrix = Float64Array.from({ length: n * n }, (_, e) => {
      const [i, j] = [Math.floor(e / n), e % n];
      return (i === j ? 1 : 0.99) * deviations[i]! * deviations[j]!;
    });
    const metric = createDenseMetric(matrix, n);
    const budgets = new Float64Array(n).fill(1 / n);
    for (const share of computeShares(metric, computeWeights(metric, budgets)))
      expect(Math.abs(share * n - 1)).toBeLessThan(1e-10);
  });
});

test('without correlations weights are proportional to the square root of budget over variance', () => {
  const variances = Float64Array.of(0.01, 0.04, 0.09);
  const budgets = Float64Array.of(0.5, 0.3, 0.2);
  const raw = variances.map((variance, i) => Math.sqrt(budgets[i]! / variance));
  const total = raw.reduce((sum, value) => sum + value, 0);
  computeWeights(createFactorMetric(new Float64Array(0), variances), budgets).forEach((weight, i) =>
    expect(weight).toBeCloseTo(raw[i]! / total, 13),
  );
});

test('equal budgets are equal risk', () => {
  const n = 25;
  const metric = createDenseMetric(createMetricMatrix(createRandomFactors(8, n, 5)), n);
  const equalBudgets = new Float64Array(n);
  solveEqualRiskWeights(createMetricMatrix(metric), equalBudgets);
  computeWeights(metric, new Float64Array(n).fill(1 / n)).forEach((weight, i) =>
    expect(weight).toBeCloseTo(equalBudgets[i]!, 11),
  );
});

test('a budget or a variance of zero is a fault', () => {
  const metric = createFactorMetric(new Float64Array(0), Float64Array.of(0.1, 0.1));
  const run = (own: Metric, budgets: Float64Array) => () =>
    solveRiskBudgetWeights(plainAlgebra, own, budgets, new Float64Array(2));
  expect(run(metric, Float64Array.of(1, 0))).toThrow(KernelFault);
  expect(run(createFactorMetric(new Float64Array(0), Float64Array.of(0.1, 0)), Float64Array.of(0.5, 0.5))).toThrow(
    KernelFault,
  );
  expect(run(metric, Float64Array.of(1))).toThrow(KernelFault);
});
