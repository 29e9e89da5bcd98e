import { describe, expect, test } from 'vitest';
import { gemm } from '#kernels/algebra/products.js';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createDenseMetric, createFactorMetric, createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { assembleProgram } from '#domain/optimisation/assembly.js';
import { computeFrontier, computeResampledFrontier, type Resampling } from '#domain/optimisation/frontier.js';
import { listRowSides } from '#domain/optimisation/report.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { createReturnDraws } from '#domain/analytics/simulation.js';
import { buildProblem, solvers } from './small-problems.js';

const NAMES = 8;
const ROWS = [
  { type: 'PositionBounds', params: { upper: 0.4 } },
  { type: 'GroupBounds', params: { field: 'SECTOR', groups: ['S0'], lower: 0.2 } },
  { type: 'TrackingError', params: { limit: 0.12 } },
];
const problem = buildProblem({ names: NAMES, seed: 9, rows: ROWS, objective: { type: 'max_utility' } });
const means = problem.expectedReturns!;
const algebra = { ...plainAlgebra, gemm };
const computeResampled = (resampling: Partial<Resampling>) =>
  computeResampledFrontier({
    solver: solvers.solver,
    algebra,
    problem,
    means,
    periods: 252,
    points: 5,
    resampling: { draws: 6, seed: 3, sessions: 120, ...resampling },
  })!;
const findLargest = (values: Float64Array) => values.reduce((largest, value) => Math.max(largest, value), 0);

describe('a resampled frontier', () => {
  test('is the mean of frontiers of the draws, which do not depend on how many there are', () => {
    const [one, two, three] = [1, 2, 3].map((draws) => computeResampled({ draws }));
    one!.points.forEach(({ weights, spread }, rank) => {
      const [second, third] = [two!.points[rank]!, three!.points[rank]!];
      for (let i = 0; i < NAMES; i++) {
        const drawnPanels = [
          weights[i]!,
          2 * second.weights[i]! - weights[i]!,
          3 * third.weights[i]! - 2 * second.weights[i]!,
        ];
        const mean = (drawnPanels[0]! + drawnPanels[1]! + drawnPanels[2]!) / 3;
        const variance = drawnPanels.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 2;
        expect(third.weights[i]).toBeCloseTo(mean, 12);
        expect(third.spread[i]).toBeCloseTo(Math.sqrt(variance), 12);
        expect(spread[i]).toBe(0);
      }
    });
  });

  test('has draws whose frontier is that of their estimates', () => {
    const sessions = 40;
    const { points } = computeResampled({ draws: 1, seed: 12, sessions });
    const daily = means.map((mean) => mean / 252);
    const panel = createReturnDraws(algebra, { metric: problem.metric, means: daily, periods: 252 }).draw(
      createCounterRandom({ seed: 12, stream: 0 }),
      sessions,
      null,
    );
    const listColumn = (i: number) => Array.from({ length: sessions }, (_, t) => panel[t * NAMES + i]!);
    const computeMean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const average = Float64Array.from({ length: NAMES }, (_, i) => computeMean(listColumn(i)));
    const covariance = (i: number, j: number) =>
      (computeMean(listColumn(i).map((value, t) => value * listColumn(j)[t]!)) - average[i]! * average[j]!) *
      (sessions / (sessions - 1));
    const computeCorrelation = (i: number, j: number) =>
      covariance(i, j) / Math.sqrt(covariance(i, i) * covariance(j, j));
    const pairs = Array.from({ length: NAMES }, (_, i) =>
      Array.from({ length: i }, (__, j) => computeCorrelation(i, j)),
    ).flat();
    const delta = NAMES / (NAMES + sessions);
    // Covariance shrunk towards constant correlation by N / (N + T) of the panel: contract 3.12.
    const shrunkCovariance = Float64Array.from({ length: NAMES * NAMES }, (_, e) => {
      const [i, j] = [Math.floor(e / NAMES), e % NAMES];
      const target = computeMean(pairs) * Math.sqrt(covariance(i, i) * covariance(j, j));
      return 252 * (i === j ? covariance(i, i) : delta * target + (1 - delta) * covariance(i, j));
    });
    // A limit on tracking error uses the estimates. So the frontier of a drawn covariance has no such limit.
    const { program } = assembleProgram(problem, { withTracking: true });
    const leastResult = solvers.solver.solve({
      ...program,
      metric: createDenseMetric(shrunkCovariance, NAMES),
      centre: new Float64Array(NAMES),
      norms: program.norms.map((norm) => ({ ...norm, metric: problem.metric })),
    });
    const mostResult = solvers.solver.solve({
      ...program,
      curvature: 0,
      ridge: 0,
      linear: average.map((value) => -252 * value),
    });
    points[0]!.weights.forEach((weight, i) => expect(weight).toBeCloseTo(leastResult.point.x[i]!, 8));
    points.at(-1)!.weights.forEach((weight, i) => expect(weight).toBeCloseTo(mostResult.point.x[i]!, 6));
  });

  test('satisfies every convex row and is below the frontier of the estimates', () => {
    const frontier = computeFrontier({ solver: solvers.solver, problem, means, riskFreeRate: 0 })!;
    const solution = solveConvex(solvers.solver, problem)!;
    for (const { weights, expected_return: earned, volatility } of computeResampled({}).points) {
      for (const { side, value, limit } of listRowSides(problem, { ...solution, weights })) {
        if (side !== 'lower') expect(value).toBeLessThan(limit + 1e-8);
        if (side !== 'upper') expect(value).toBeGreaterThan(limit - 1e-8);
      }
      const higherPosition = frontier.points.findIndex((point) => point.expected_return > earned);
      const [from, to] = [frontier.points[Math.max(higherPosition - 1, 0)]!, frontier.points[higherPosition]!];
      // Between two points of the frontier, the variance is at least the variance of the frontier. This is at least the
      // variance of the lower point.
      expect(volatility).toBeGreaterThanOrEqual(Math.min(from.volatility, to.volatility) - 1e-10);
    }
  });

  test('has a spread that falls as the draws are longer, and bits of its seed', () => {
    // The minimum variance has no corner solution, so the spread falls by about the square root of the sample length.
    const computeSpread = (sessions: number) =>
      findLargest(computeResampled({ sessions, draws: 12 }).points[0]!.spread);
    expect(computeSpread(2000)).toBeLessThan(0.4 * computeSpread(60));
    expect(computeResampled({})).toEqual(computeResampled({}));
    expect(computeResampled({ seed: 4 }).points[2]!.weights).not.toEqual(computeResampled({}).points[2]!.weights);
  });
});

describe('drawn returns', () => {
  const matrix = problem.metric;
  const rows = 20_000;
  const loadings = Float64Array.from({ length: 3 * 2 }, (_, e) => 0.1 * (e + 1) * (e % 2 === 0 ? 1 : -1));
  const factors = createFactorMetric(loadings, Float64Array.of(0.02, 0.05, 0.01));

  test.each([
    ['normal, of a matrix', matrix, null],
    ['of Student, of a matrix', matrix, 6],
    ['normal, of loadings', factors, null],
    ['of Student, of loadings', factors, 6],
  ] as const)('%s, have the moments that they are drawn with', (_, metric, degrees) => {
    const { n } = metric;
    const mean = Float64Array.from({ length: n }, (__, i) => 0.001 * i);
    const draws = createReturnDraws(algebra, { metric, means: mean, periods: 252 });
    const panel = draws.draw(createCounterRandom({ seed: 1, stream: 0 }), rows, degrees);
    const wantedMatrix = createMetricMatrix(metric);
    let fourth = 0;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        let total = 0;
        for (let t = 0; t < rows; t++) total += (panel[t * n + i]! - mean[i]!) * (panel[t * n + j]! - mean[j]!);
        const error = (252 * total) / rows - wantedMatrix[i * n + j]!;
        // Five standard errors of an estimate from this number of rows, including fat tails.
        expect(Math.abs(error)).toBeLessThan(
          5 * Math.sqrt((4 * wantedMatrix[i * n + i]! * wantedMatrix[j * n + j]!) / rows),
        );
      }
      for (let t = 0; t < rows; t++)
        fourth += ((panel[t * n + i]! - mean[i]!) * Math.sqrt(252 / wantedMatrix[i * n + i]!)) ** 4 / (rows * n);
    }
    // The kurtosis of a normal distribution is 3, and of Student's distribution 3 + 6 / (degrees - 4).
    if (degrees === null) expect(fourth).toBeCloseTo(3, 0);
    else expect(fourth).toBeGreaterThan(4.2);
  });
});
