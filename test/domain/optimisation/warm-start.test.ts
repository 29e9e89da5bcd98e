import { describe, expect, test } from 'vitest';
import { UPPER } from '#kernels/optimisation/program/active-state.js';
import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import { createFullProgram, solveConvex } from '#domain/optimisation/convex-solve.js';
import { seeded } from '../../seeded.js';
import { buildProblem, solvers } from './small-problems.js';

const NAMES = 30;

describe('a solve that starts from another answer', () => {
  test.each([
    ['Volatility', (volatility: number) => ({ limit: 0.96 * volatility })],
    ['EffectiveNumber', () => ({ minimum: 14 })],
  ])('is that of a separate search, where %s binds', (type, paramsAt) => {
    let comparedCount = 0;
    for (let seed = 1; seed <= 5; seed++) {
      const { metric, index } = buildProblem({ names: NAMES, seed, rows: [] });
      const params = paramsAt(Math.sqrt(computeMetricSquare(metric, index)));
      const problem = buildProblem({ names: NAMES, seed, rows: [{ type, params }] });
      const base = createFullProgram(problem, {});
      const random = seeded(seed);
      const createOpenBounds = () => ({
        least: new Float64Array(NAMES).fill(-Infinity),
        most: Float64Array.from({ length: NAMES }, () => (random() < 0.1 ? 0 : 0.2)),
        sums: [],
      });
      const before = solveConvex(solvers.solver, problem, { base, restriction: createOpenBounds() });
      if (before?.answer.state.norms.includes(UPPER) !== true) continue;
      for (let k = 0; k < 8; k++) {
        const restriction = createOpenBounds();
        const coldSolution = solveConvex(solvers.solver, problem, { base, restriction });
        const result = solveConvex(solvers.solver, problem, { base, restriction, beside: before.answer });
        expect(result === undefined).toBe(coldSolution === undefined);
        if (coldSolution === undefined || result === undefined) continue;
        comparedCount++;
        for (let i = 0; i < NAMES; i++) expect(result.weights[i]).toBeCloseTo(coldSolution.weights[i]!, 9);
      }
    }
    expect(comparedCount).toBeGreaterThan(15);
  });
});
