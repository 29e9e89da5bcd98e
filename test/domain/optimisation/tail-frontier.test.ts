import { describe, expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { computeFrontier } from '#domain/optimisation/frontier.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { computeOutcomes, computeTailAverage } from '#domain/definition/tail-risk.js';
import { buildProblem, solvers } from './small-problems.js';

const LIMIT = 0.03;
const ROW = { type: 'CVaR', params: { limit: LIMIT, confidence: 0.9 } };

/** Solves one problem with an objective and the CVaR constraint, independently of the frontier. @returns the weights */
function solveWeightsFor(objective: { readonly type: string } & Readonly<Record<string, unknown>>): Float64Array {
  const outcome = solveProblem(solvers, buildProblem({ names: 40, seed: 5, rows: [ROW], objective }));
  if (outcome.kind !== 'solved') throw new Error(outcome.kind);
  return outcome.solution.weights;
}

describe('the frontier within a limit on the worst losses', () => {
  const problem = buildProblem({ names: 40, seed: 5, rows: [ROW] });
  const means = problem.expectedReturns!;
  const { points, tangency } = computeFrontier({
    solver: createSolver(plainAlgebra),
    problem,
    means,
    riskFreeRate: 0,
  })!;
  const [end] = points.slice(-1) as [(typeof points)[number]];
  const computeReturn = (weights: Float64Array) => weights.reduce((sum, weight, i) => sum + weight * means[i]!, 0);
  const computeLoss = (weights: Float64Array) => {
    const { row } = problem.rows.find((placed) => placed.row.form === 'tail')!;
    if (row.form !== 'tail') throw new Error(row.form);
    return computeTailAverage(row.goal, computeOutcomes(row.goal, weights));
  };

  test('keeps it at each point, and ends at it', () => {
    expect(points).toHaveLength(21);
    for (const { weights } of points) expect(computeLoss(weights)).toBeLessThan(LIMIT + 1e-8);
    expect(Math.abs(computeLoss(end.weights) - LIMIT)).toBeLessThan(1e-8);
  });

  test('ends at the largest expected return', () => {
    expect(Math.abs(computeReturn(solveWeightsFor({ type: 'max_return' })) - end.expected_return)).toBeLessThan(1e-8);
  });

  test('rises in variance more and more', () => {
    const variances = points.map(({ volatility }) => volatility ** 2);
    for (let k = 2; k < points.length; k++)
      expect(variances[k]! - 2 * variances[k - 1]! + variances[k - 2]!).toBeGreaterThan(-1e-10);
  });

  test('names the largest risk aversion that still has the largest return', () => {
    const aversion = end.risk_aversion!;
    const belowReturn = computeReturn(solveWeightsFor({ type: 'max_utility', risk_aversion: 0.99 * aversion }));
    const higherReturn = computeReturn(solveWeightsFor({ type: 'max_utility', risk_aversion: 1.05 * aversion }));
    expect(Math.abs(belowReturn - end.expected_return)).toBeLessThan(1e-8);
    expect(higherReturn).toBeLessThan(end.expected_return - 1e-7);
  });

  test('has the largest Sharpe ratio at the tangency', () => {
    const best = computeReturn(solveWeightsFor({ type: 'max_sharpe' }));
    expect(Math.abs(best - tangency!.expected_return)).toBeLessThan(1e-5);
    for (const { expected_return: at, volatility } of points)
      expect(tangency!.sharpe).toBeGreaterThanOrEqual(at / volatility - 1e-12);
  });
});
