import { expect, test } from 'vitest';
import { createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import { computeTrackingVariance } from '#domain/optimisation/problem.js';
import { buildProblem } from './small-problems.js';

test('the objective is the annualised variance of the active weights', () => {
  const problem = buildProblem({ names: 6, seed: 1, rows: [] });
  const matrix = createMetricMatrix(problem.metric);
  const weights = problem.index.map((weight, i) => weight + (i % 2 === 0 ? 0.01 : -0.01));
  let variance = 0;
  for (let i = 0; i < 6; i++)
    for (let j = 0; j < 6; j++)
      variance += (i % 2 === 0 ? 0.01 : -0.01) * matrix[i * 6 + j]! * (j % 2 === 0 ? 0.01 : -0.01);
  expect(computeTrackingVariance(problem, weights)).toBeCloseTo(variance, 18);
});
