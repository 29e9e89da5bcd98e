import { expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/optimality.js';
import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import { createSolver, type Solver } from '#kernels/optimisation/solve-program.js';
import { computeFrontier } from '#domain/optimisation/frontier.js';
import { seeded } from '../../seeded.js';
import { buildProblem } from './small-problems.js';

const PAIRS: Readonly<Record<string, readonly object[]>> = {
  'a turnover limit and an exclusion': [
    { type: 'Turnover', params: { limit: 0.3, reference: 'previous' } },
    { type: 'Exclude', params: { identifiers: ['N003', 'N010'] } },
  ],
  'a turnover limit with position and group rows': [
    { type: 'Turnover', params: { limit: 0.35 } },
    { type: 'PositionBounds', params: { upper: 0.08 } },
    { type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.3 } },
  ],
  'an active share and a tracking error': [
    { type: 'ActiveShare', params: { limit: 0.3 } },
    { type: 'TrackingError', params: { limit: 0.06 } },
  ],
  'an effective number and a turnover limit': [
    { type: 'EffectiveNumber', params: { minimum: 20 } },
    { type: 'Turnover', params: { limit: 0.4, reference: 'previous' } },
  ],
  'an effective number and a tracking error': [
    { type: 'EffectiveNumber', params: { minimum: 15 } },
    { type: 'TrackingError', params: { limit: 0.1 } },
  ],
  'a weighted average and bounds on trades': [
    { type: 'WeightedAverage', params: { field: 'X', upper: 45 } },
    { type: 'TradeSize', params: { upper: 0.03, reference: 'previous' } },
  ],
};

/** Records for each expected return the request that the solver receives and its answer. */
function watchSolver(inner: Solver): {
  readonly solver: Solver;
  readonly asked: { program: Program; x: Float64Array }[];
  readonly routes: string[];
} {
  const requests: { program: Program; x: Float64Array }[] = [];
  const routes: string[] = [];
  return {
    asked: requests,
    routes,
    solver: {
      ...inner,
      solve(program, options) {
        const answer = inner.solve(program, options);
        expect(answer.status).toBe('solved');
        expect(isOptimal(checkKkt(program, answer.point))).toBe(true);
        requests.push({ program, x: answer.point.x });
        routes.push(answer.route);
        return answer;
      },
    },
  };
}

test.each(Object.entries(PAIRS))('under %s every point is what a solve by itself finds', (_, rows) => {
  const problem = buildProblem({ names: 60, seed: 5, rows, hasPrevious: true });
  const random = seeded(31);
  const means = Float64Array.from(problem.index, () => 0.1 * (random() - 0.3));
  const { solver, asked, routes } = watchSolver(createSolver(plainAlgebra));
  const { points, tangency } = computeFrontier({ solver, problem, means, riskFreeRate: 0 })!;
  expect(points).toHaveLength(21);
  points.forEach((point, k) => {
    expect(point.expected_return).toBeCloseTo(
      points[0]!.expected_return + (k / 20) * (points[20]!.expected_return - points[0]!.expected_return),
      10,
    );
    expect(point.weights.reduce((sum, weight, i) => sum + weight * means[i]!, 0)).toBeCloseTo(
      point.expected_return,
      12,
    );
    if (k > 0) expect(point.volatility).toBeGreaterThanOrEqual(points[k - 1]!.volatility - 1e-12);
  });
  // The expected return minus half the risk aversion times the variance is largest at one point of the frontier: the
  // point with this risk aversion.
  const [{ program: ofVariance }] = asked as [(typeof asked)[number]];
  for (const { weights, risk_aversion: aversion } of [points[4]!, points[12]!]) {
    const utility = { ...ofVariance, curvature: aversion!, linear: means.map((mean) => -mean) };
    const ownResult = createSolver(plainAlgebra).solve(utility);
    expect(ownResult.status).toBe('solved');
    ownResult.point.x.forEach((weight, i) => expect(weight).toBeCloseTo(weights[i]!, 5));
  }
  for (const { program, x } of asked.filter(({ program: { curvature } }) => curvature > 0).slice(0, 21)) {
    const ownResult = createSolver(plainAlgebra).solve({ ...program, rows: { ...program.rows } });
    if (ownResult.status !== 'solved') continue; // the largest return is harder to find without a starting point
    // The largest return touches the ball of the norm at a single point. So an error of 1e-13 in the radius becomes
    // 1e-7 in the weights.
    const tolerance =
      program.norms.length > 0 && x === asked.findLast(({ program: { curvature } }, k) => curvature > 0 && k <= 21)!.x
        ? 1e-8
        : 1e-10;
    expect(
      Math.abs(
        Math.sqrt(computeMetricSquare(problem.metric, x)) -
          Math.sqrt(computeMetricSquare(problem.metric, ownResult.point.x)),
      ),
    ).toBeLessThan(tolerance);
  }
  // The minimum variance and the largest return are solved from scratch. All other points start from a neighbouring
  // point.
  expect(routes.slice(2).filter((route) => route === 'active-set').length).toBeGreaterThanOrEqual(routes.length - 4);
  if (tangency !== null)
    for (const point of points)
      expect(tangency.sharpe).toBeGreaterThanOrEqual(point.expected_return / point.volatility - 1e-12);
});
