import { describe, expect, test } from 'vitest';
import {
  computeMetricDiagonal,
  computeMetricSquare,
  createDenseMetric,
  createMetricMatrix,
} from '#kernels/optimisation/program/metric.js';
import { findObjectiveClass } from '#domain/definition/objectives.js';
import { computeFrontier } from '#domain/optimisation/frontier.js';
import { applyMetric, createProblem, type Problem } from '#domain/optimisation/problem.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { buildProblem, requireSolution, solvers, type SmallMarket } from '../optimisation/small-problems.js';

const NAMES = 16;
const CAPS = [{ type: 'PositionBounds', params: { upper: 0.15 } }];

const createMarket = (objective: SmallMarket['objective'], members: Partial<SmallMarket> = {}) =>
  buildProblem({ names: NAMES, seed: 5, rows: [], objective: objective!, ...members });
const computeDistance = (a: Float64Array, b: Float64Array) =>
  a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i]!)), 0);
const computeDotProduct = (a: Float64Array, b: Float64Array) => a.reduce((total, value, i) => total + value * b[i]!, 0);
const sumValues = (values: Float64Array) => values.reduce((total, value) => total + value, 0);

/** Returns the share of each security in the variance. */
function computeShares({ metric }: Problem, weights: Float64Array): Float64Array {
  const product = applyMetric(metric, weights);
  const variance = computeDotProduct(weights, product);
  return weights.map((weight, i) => (weight * product[i]!) / variance);
}

describe('the least variance', () => {
  test('is the largest utility at a risk aversion beyond all returns', () => {
    for (const rows of [[], CAPS]) {
      const leastWeights = requireSolution(createMarket({ type: 'min_variance' }, { rows })).weights;
      const averse = requireSolution(createMarket({ type: 'max_utility', risk_aversion: 1e9 }, { rows })).weights;
      expect(computeDistance(leastWeights, averse)).toBeLessThan(1e-8);
    }
  });
});

describe('the largest Sharpe ratio', () => {
  const objective = { type: 'max_sharpe', risk_free_rate: 0.01 };
  const problem = createMarket(objective, { rows: CAPS });
  const { weights } = requireSolution(problem);
  const means = problem.expectedReturns!;
  const excess = computeDotProduct(means, weights) - 0.01;
  const variance = computeMetricSquare(problem.metric, weights);
  const sharpe = excess / Math.sqrt(variance);

  test('is that of the tangent of the frontier, and no point of the frontier has more', () => {
    const { points, tangency } = computeFrontier({ solver: solvers.solver, problem, means, riskFreeRate: 0.01 })!;
    expect(Math.abs(tangency!.sharpe / sharpe - 1)).toBeLessThan(1e-9);
    expect(tangency!.sharpe).toBeLessThanOrEqual(sharpe * (1 + 1e-13));
    for (const { expected_return, volatility } of points)
      expect((expected_return - 0.01) / volatility).toBeLessThanOrEqual(sharpe * (1 + 1e-13));
  });

  test('is the largest utility at the risk aversion of its excess return over variance', () => {
    const utility = requireSolution(
      createMarket({ type: 'max_utility', risk_aversion: excess / variance }, { rows: CAPS }),
    ).weights;
    expect(computeDistance(weights, utility)).toBeLessThan(1e-8);
  });

  test('is not there where nothing earns more than the rate', () => {
    expect(solveConvex(solvers.solver, createMarket({ type: 'max_sharpe', risk_free_rate: 0.2 }))).toBeUndefined();
  });

  test('invests as much as the rows allow if portfolios have equal ratios', () => {
    const cash = [{ type: 'WeightSum', params: { lower: 0.5, upper: 0.9 } }];
    const partWeights = requireSolution(createMarket(objective, { rows: cash })).weights;
    const wholeWeights = requireSolution(createMarket(objective)).weights;
    expect(sumValues(partWeights)).toBeCloseTo(0.9, 10);
    expect(
      computeDistance(
        partWeights.map((weight) => weight / 0.9),
        wholeWeights,
      ),
    ).toBeLessThan(1e-9);
  });
});

describe('more candidates', () => {
  const objectives = [
    { type: 'min_tracking_error' },
    { type: 'min_variance' },
    { type: 'max_utility', risk_aversion: 3 },
    { type: 'max_return' },
    { type: 'max_sharpe', risk_free_rate: 0.01 },
    { type: 'max_diversification' },
    { type: 'max_decorrelation' },
    { type: 'min_cvar', confidence: 0.9 },
    { type: 'min_cdar', confidence: 0.9 },
  ];
  test.each(objectives)('never worsen $type', (objective) => {
    const fewerRows = ['N000', 'N003', 'N007', 'N011'].map((name) => ({
      type: 'PositionBounds',
      params: { identifiers: [name], upper: 0 },
    }));
    const best = requireSolution(createMarket(objective, { rows: CAPS })).objective;
    let leastVariance = best;
    for (let count = 1; count <= fewerRows.length; count++) {
      const { objective: found } = requireSolution(
        createMarket(objective, { rows: [...CAPS, ...fewerRows.slice(0, count)] }),
      );
      expect(found).toBeGreaterThanOrEqual(leastVariance - 1e-12 * Math.abs(leastVariance));
      leastVariance = found;
    }
    expect(leastVariance).toBeGreaterThan(best);
  });
});

describe('risk parity', () => {
  test('has equal contributions', () => {
    const problem = createMarket({ type: 'risk_parity' });
    const solution = requireSolution(problem);
    for (const share of computeShares(problem, solution.weights))
      expect(Math.abs(share * NAMES - 1)).toBeLessThan(1e-10);
    expect(Math.abs(solution.objective)).toBeLessThan(1e-12);
  });

  test('has the contributions of its budgets, by name and by group', () => {
    const budgets = { S0: 0.3, S1: 0.1, S2: 0.25, S3: 0.05, S4: 0.1, N003: 0.2 };
    const problem = createMarket({ type: 'risk_parity', budgets });
    const shares = computeShares(problem, requireSolution(problem).weights);
    expect(shares[3]).toBeCloseTo(0.2, 10);
    for (const [sector, budget] of [0.3, 0.1, 0.25, 0.05, 0.1].entries()) {
      const members = shares.filter((_, i) => i % 5 === sector && i !== 3);
      expect(sumValues(members)).toBeCloseTo(budget, 10);
      for (const share of members) expect(share).toBeCloseTo(budget / members.length, 10);
    }
  });

  test('distributes the budget of an excluded security, and reports a budget without a security', () => {
    const rows = [{ type: 'Exclude', params: { identifiers: ['N003'] } }];
    const equalProblem = createMarket({ type: 'risk_parity' }, { rows });
    const shares = computeShares(equalProblem, requireSolution(equalProblem).weights);
    expect(shares[3]).toBeCloseTo(0, 14);
    for (const [i, share] of shares.entries()) if (i !== 3) expect(share).toBeCloseTo(1 / (NAMES - 1), 10);
    const budgets = { N003: 0.4, N004: 0.2, S1: 0.4 };
    const budgetProblem = createMarket({ type: 'risk_parity', budgets }, { rows });
    const reportText = budgetProblem.warnings.map(({ message, path }) => `${path}: ${message}`).join();
    expect(reportText).toContain('objective.budgets: No security that may be held has the budget of N003');
    // The named security, the members of S1 and N003 may not be held. The other securities have no budget.
    const restCount = NAMES - 2 - Array.from({ length: NAMES }).filter((_, i) => i % 5 === 1).length;
    expect(reportText).toContain(
      `objective.budgets: ${restCount} of ${NAMES} securities have no risk budget and no weight: N000,`,
    );
    expect(computeShares(budgetProblem, requireSolution(budgetProblem).weights)[4]).toBeCloseTo(0.2 / 0.6, 10);
    expect(() => createMarket({ type: 'risk_parity', budgets: { N003: 0.5, NOBODY: 0.5 } }, { rows })).toThrow(
      'None of the 2 budgets (N003, NOBODY) belongs to a security that may be held',
    );
  });

  test('leaves its contributions by as much as a row that binds forces it to', () => {
    const rows = [{ type: 'PositionBounds', params: { upper: 0.07 } }];
    const problem = createMarket({ type: 'risk_parity' }, { rows });
    const { weights, objective } = requireSolution(problem);
    expect(objective).toBeGreaterThan(1e-6);
    const shares = computeShares(problem, weights);
    // Securities below the cap exceed their budgets by a common factor, because the capped securities contribute less.
    const ratios = shares.filter((_, i) => weights[i]! < 0.07 - 1e-9).map((share) => share * NAMES);
    expect(ratios.length).toBeGreaterThan(2);
    expect(ratios.length).toBeLessThan(NAMES);
  });
});

describe('the largest diversification', () => {
  test('is where the correlations have the least variance, divided by volatilities and rescaled', () => {
    const problem = createMarket({ type: 'max_diversification' });
    const matrix = createMetricMatrix(problem.metric);
    const volatilities = computeMetricDiagonal(problem.metric).map(Math.sqrt);
    const correlations = matrix.map(
      (value, e) => value / volatilities[Math.floor(e / NAMES)]! / volatilities[e % NAMES]!,
    );
    const decorrelatedWeights = requireSolution(
      createProblem({
        ...problem,
        metric: createDenseMetric(correlations, NAMES),
        objective: { entry: findObjectiveClass('min_variance')!, params: {} },
        rows: [],
        datapoints: { numbers: () => problem.index, categories: () => [], medianValueTraded: () => problem.index },
      }),
    ).weights.map((weight, i) => weight / volatilities[i]!);
    const rescaledWeights = decorrelatedWeights.map((weight) => weight / sumValues(decorrelatedWeights));
    for (const type of ['max_diversification', 'max_decorrelation'])
      expect(computeDistance(requireSolution(createMarket({ type })).weights, rescaledWeights)).toBeLessThan(1e-9);
  });

  // C = [[1, .2, .5], [.2, 1, 0], [.5, 0, 1]] has C^-1 1 = [.3, .65, .56] / .71. Volatilities .1, .2, .4 divide it to
  // [3, 3.25, 1.4] / .71, whose parts of the sum are the weights.
  test.each(['max_decorrelation', 'max_diversification'])('of three securities: %s', (type) => {
    const volatilities = [0.1, 0.2, 0.4];
    const correlations = [1, 0.2, 0.5, 0.2, 1, 0, 0.5, 0, 1];
    const index = Float64Array.of(1 / 3, 1 / 3, 1 / 3);
    const problem = createProblem({
      identifiers: ['A', 'B', 'C'],
      index,
      previous: null,
      metric: createDenseMetric(
        Float64Array.from(correlations, (value, e) => value * volatilities[Math.floor(e / 3)]! * volatilities[e % 3]!),
        3,
      ),
      objective: { entry: findObjectiveClass(type)!, params: {} },
      rows: [],
      datapoints: { numbers: () => index, categories: () => [], medianValueTraded: () => index },
    });
    const { weights } = requireSolution(problem);
    [3, 3.25, 1.4].forEach((value, i) => expect(weights[i]).toBeCloseTo(value / 7.65, 9));
  });

  test.each(['max_decorrelation', 'max_diversification', 'risk_parity'])(
    'gives no weight to a security without variance, which a warning names: %s',
    (type) => {
      const index = Float64Array.of(1 / 3, 1 / 3, 1 / 3);
      for (const variance of [0, 1e-30]) {
        const problem = createProblem({
          identifiers: ['A', 'B', 'C'],
          index,
          previous: null,
          metric: createDenseMetric(Float64Array.of(0.01, 0, 0, 0, 0.04, 0, 0, 0, variance), 3),
          objective: { entry: findObjectiveClass(type)!, params: findObjectiveClass(type)!.params.parse({}) },
          rows: [],
          datapoints: { numbers: () => index, categories: () => [], medianValueTraded: () => index },
        });
        expect(problem.warnings).toEqual([
          { message: '1 of 3 securities have a variance of 0, and therefore no weight: C.', path: 'objective' },
        ]);
        const { weights } = requireSolution(problem);
        [2 / 3, 1 / 3, 0].forEach((value, i) => expect(weights[i]).toBeCloseTo(value, 9));
      }
    },
  );

  test('does not depend on the unit of the covariance, nor do the other objectives without returns', () => {
    for (const type of [
      'min_variance',
      'risk_parity',
      'max_diversification',
      'max_decorrelation',
      'min_tracking_error',
    ]) {
      const problem = createMarket({ type }, { rows: CAPS });
      const scaledProblem = createProblem({
        ...problem,
        metric: createDenseMetric(
          createMetricMatrix(problem.metric).map((value) => 7 * value),
          NAMES,
        ),
        objective: { entry: findObjectiveClass(type)!, params: problem.objective.params },
        rows: CAPS.map((row) => ({ id: '', ...row })),
        datapoints: { numbers: () => problem.index, categories: () => [], medianValueTraded: () => problem.index },
      });
      expect(
        computeDistance(requireSolution(problem).weights, requireSolution(scaledProblem).weights),
        type,
      ).toBeLessThan(1e-9);
    }
  });
});

describe('costs', () => {
  const objectives = [
    { type: 'min_variance' },
    { type: 'max_utility', risk_aversion: 3 },
    { type: 'max_sharpe' },
    { type: 'max_diversification' },
    { type: 'max_decorrelation' },
    { type: 'max_return' },
    { type: 'min_tracking_error' },
    { type: 'risk_parity' },
  ];

  test.each(objectives)('of zero change nothing: $type', (objective) => {
    const freeWeights = requireSolution(createMarket(objective, { rows: CAPS, hasPrevious: true })).weights;
    const costless = requireSolution(
      createMarket(objective, { rows: CAPS, hasPrevious: true, costs: { bps: 0, impact: 0 } }),
    ).weights;
    expect(computeDistance(freeWeights, costless)).toBeLessThan(1e-9);
  });

  // Risk parity is left out. It subtracts costs from the evenness of risk, which falls without bound when a weight
  // approaches zero.
  test.each(objectives.slice(0, -1))('beyond all gain leave the holdings unchanged: $type', (objective) => {
    const problem = createMarket(objective, { hasPrevious: true, costs: { bps: 9000, impact: 0 } });
    expect(computeDistance(requireSolution(problem).weights, problem.previous!.weights)).toBeLessThan(1e-9);
  });

  test.each([
    { bps: 40, impact: 0 },
    { bps: 0, impact: 0.05 },
  ])('lower the trades: %j', (costs) => {
    for (const objective of objectives) {
      const measureTrades = (ownCosts: SmallMarket['costs']) => {
        const problem = createMarket(objective, {
          hasPrevious: true,
          ...(ownCosts === undefined ? {} : { costs: ownCosts }),
        });
        return requireSolution(problem).weights.reduce(
          (sum, weight, i) => sum + Math.abs(weight - problem.previous!.weights[i]!),
          0,
        );
      };
      expect(measureTrades(costs), objective.type).toBeLessThan(measureTrades(undefined) + 1e-12);
    }
  });
});
