import { describe, expect, test } from 'vitest';
import { computeOutcomes, computeTailAverage } from '#domain/definition/tail-risk.js';
import { computeDotProduct } from '#domain/base/numbers.js';
import { interpolateCorners, type PricedCorner } from '#domain/optimisation/tail-averages.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/optimality.js';
import { seeded } from '../../seeded.js';
import { buildProblem, solvers } from './small-problems.js';

describe('weights between two corners', () => {
  /** Corners of a polygon of cost and tail average: (-3, 9), (-2, 4), (-1, 1) and (0, 0). */
  const corners: PricedCorner[] = [3, 2, 1, 0].map((value) => ({
    weights: Float64Array.of(value),
    cost: -value,
    tail: value * value,
  }));
  const findCornerAt = (price: number): PricedCorner =>
    corners.reduce((best, corner) =>
      corner.cost + price * corner.tail < best.cost + price * best.tail ? corner : best,
    );

  test.each([0.001, 0.25, 0.3, 5])('are found at their price from one of %d', (first) => {
    expect(interpolateCorners(first, 2.5, findCornerAt)?.weights[0]).toBeCloseTo(1.5, 14);
  });

  test('do not exist below the least tail', () => {
    expect(interpolateCorners(1, -1, findCornerAt)).toBeUndefined();
  });
});

test.each([{ upper: 0.1 }, { lower: -0.05, upper: 0.1 }])(
  'the largest return within a tight CVaR is proven by planes below it: %j',
  (params) => {
    const bounds = { type: 'PositionBounds', params };
    const createLimitedRows = (limit: number) => [bounds, { type: 'CVaR', params: { limit, confidence: 0.9 } }];
    const market = { names: 60, seed: 12 };
    const objective = { type: 'min_cvar', confidence: 0.9 };
    const leastTail = solveConvex(solvers.solver, buildProblem({ ...market, rows: [bounds], objective }))!.objective;
    const limit = leastTail + 0.05 * Math.abs(leastTail);
    const problem = buildProblem({
      ...market,
      rows: createLimitedRows(limit),
      objective: { type: 'max_return' },
    });
    const result = solveConvex(solvers.solver, problem)!;
    const goal = problem.tails.goal('loss', 0.9, { sessions: null, drawn: null });
    const computeTail = (weights: Float64Array) => computeTailAverage(goal, computeOutcomes(goal, weights));
    expect(Math.abs(computeTail(result.weights) - limit)).toBeLessThan(2e-9);
    expect(isOptimal(checkKkt(result.assembled.program, result.answer.point))).toBe(true);
    const random = seeded(2);
    expect(result.planes.length).toBeGreaterThan(0);
    for (const { slopes } of result.planes)
      for (let trial = 0; trial < 50; trial++) {
        const weights = Float64Array.from({ length: 60 }, () => random() - 0.3);
        expect(computeDotProduct(slopes, weights)).toBeLessThanOrEqual(computeTail(weights) + 1e-9);
      }
  },
);
