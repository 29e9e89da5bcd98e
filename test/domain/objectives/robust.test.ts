import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  computeMetricDiagonal,
  createFactorMetric,
  createMetricMatrix,
  type Metric,
} from '#kernels/optimisation/program/metric.js';
import { checkKkt } from '#kernels/optimisation/program/optimality.js';
import { computeWorstVariance, type Robustness } from '#domain/definition/objectives.js';
import { computeGoalValue } from '#domain/optimisation/goals.js';
import type { Problem } from '#domain/optimisation/problem.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { IS_SOAK } from '../../soak.js';
import { seeded } from '../../seeded.js';
import { buildProblem, requireSolution, solvers, type SmallMarket } from '../optimisation/small-problems.js';
import { goldenCases, createGoldenProblem } from './golden-cases.js';

interface UncertaintySets {
  readonly returns?: { readonly set: 'ellipsoid' | 'diagonal' | 'box'; readonly radius: number };
  readonly covariance?: { readonly radius: number };
}

/** Returns the uncertainty sets in the form of the solver. The standard error of a return is its volatility. */
function createRobustness(metric: Metric, { returns, covariance }: UncertaintySets): Robustness {
  const spread = covariance?.radius ?? 0;
  if (returns === undefined) return { returns: null, spread };
  const { set, radius } = returns;
  const variances = computeMetricDiagonal(metric);
  if (set === 'box')
    return { returns: { form: 'box', widths: variances.map((value) => radius * Math.sqrt(value)) }, spread };
  const shape = set === 'diagonal' ? createFactorMetric(new Float64Array(0), variances) : metric;
  return { returns: { form: 'ellipsoid', radius, metric: shape }, spread };
}

const addUncertainty = (problem: Problem, sets: UncertaintySets): Problem => ({
  ...problem,
  robustness: createRobustness(problem.metric, sets),
});

interface GoldenCase {
  readonly seed: number;
  readonly objective: { readonly type: string };
  readonly uncertainty: UncertaintySets;
  readonly value: number;
  readonly weights: readonly number[];
}

const file = new URL('../../../../test/golden/robust/robust.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: GoldenCase[] }; // written by make.py

/**
 * Indices of cases that take ten times as long. They have market impact with a limit on the effective number, or with
 * short positions.
 */
const SLOW_CASES = new Set([5, 6]);

describe('the optimum for the worst of a set is that of the cone programme', () => {
  test.each(['min_variance', 'max_utility', 'max_return', 'max_sharpe'])('%s', (type) => {
    const typeCases = cases.filter(({ objective }) => objective.type === type);
    expect(typeCases.length).toBeGreaterThan(4);
    for (const { seed, objective, uncertainty, value, weights } of typeCases) {
      if (!IS_SOAK && SLOW_CASES.has(seed)) continue;
      const label = `seed ${seed} ${JSON.stringify(uncertainty)}`;
      const golden = goldenCases.find((each) => each.seed === seed)!;
      const problem = addUncertainty(createGoldenProblem(golden, objective), uncertainty);
      const solution = solveConvex(solvers.solver, problem);
      expect(solution, label).toBeDefined();
      const sign = problem.objective.entry.sense === 'maximise' ? -1 : 1;
      expect(Math.abs(sign * solution!.objective - value), label).toBeLessThan(1e-8 * Math.abs(value) + 5e-9);
      weights.forEach((weight, i) => expect(Math.abs(solution!.weights[i]! - weight), label).toBeLessThan(5e-6));
      const { primal, stationarity, multipliers } = checkKkt(solution!.assembled.program, solution!.answer.point);
      expect(Math.max(primal, stationarity, multipliers), label).toBeLessThan(1e-8);
    }
  });
});

const NAMES = 16;
const ROWS = [
  { type: 'PositionBounds', params: { upper: 0.2 } },
  { type: 'Volatility', params: { limit: 0.16 } },
];
const SHORT_BOUNDS = [{ type: 'PositionBounds', params: { lower: -0.1, upper: 0.3 } }];
const OBJECTIVES: readonly NonNullable<SmallMarket['objective']>[] = [
  { type: 'max_utility', risk_aversion: 3 },
  { type: 'max_return' },
  { type: 'max_sharpe', risk_free_rate: -0.05 },
];
const createMarket = (objective: NonNullable<SmallMarket['objective']>, rows: readonly object[] = ROWS) =>
  buildProblem({ names: NAMES, seed: 5, rows, objective });

/** Returns the uncertainty sets that an objective needs. Their size grows with the radius. */
function createSets(type: string, radius: number): UncertaintySets[] {
  const returns = (['ellipsoid', 'diagonal', 'box'] as const).map((set) => ({ returns: { set, radius: radius / 4 } }));
  if (type === 'max_return') return returns;
  return [...returns, { covariance: { radius } }, { ...returns[1]!, covariance: { radius } }];
}

describe('a set of radius 0 is the problem without it', () => {
  test.each(OBJECTIVES)('$type', (objective) => {
    for (const rows of [ROWS, SHORT_BOUNDS]) {
      const plainSolution = requireSolution(createMarket(objective, rows));
      for (const sets of createSets(objective.type, 0)) {
        const { weights, objective: value } = requireSolution(addUncertainty(createMarket(objective, rows), sets));
        expect(value).toBeCloseTo(plainSolution.objective, 12);
        weights.forEach((weight, i) => expect(weight).toBeCloseTo(plainSolution.weights[i]!, 9));
      }
    }
  });
});

describe('a larger set', () => {
  test.each(OBJECTIVES)('never has a better worst case, and its answer is the best for it: $type', (objective) => {
    for (const rows of [ROWS, SHORT_BOUNDS]) {
      const radii = [0, 0.1, 0.3, 1];
      for (const k of createSets(objective.type, 1).keys()) {
        const problems = radii.map((radius) =>
          addUncertainty(createMarket(objective, rows), createSets(objective.type, radius)[k]!),
        );
        const answers = problems.flatMap((problem) => {
          const solution = solveConvex(solvers.solver, problem);
          return solution === undefined ? [] : [{ problem, solution }]; // a ratio has no solution without a positive numerator
        });
        expect(answers.length).toBeGreaterThan(2);
        answers.forEach(({ problem, solution }, at) => {
          if (at > 0) expect(solution.objective).toBeGreaterThanOrEqual(answers[at - 1]!.solution.objective - 1e-12);
          for (const other of answers)
            expect(computeGoalValue(problem, other.solution.weights)).toBeGreaterThanOrEqual(
              solution.objective - 1e-10,
            );
        });
      }
    }
  });
});

test('an ellipsoid with the shape of the covariance leaves the portfolio of the largest Sharpe ratio, and its ratio less by the radius', () => {
  const objective = { type: 'max_sharpe', risk_free_rate: -0.05 };
  const rows = [ROWS[0]!];
  const plainSolution = requireSolution(createMarket(objective, rows));
  const worst = requireSolution(
    addUncertainty(createMarket(objective, rows), { returns: { set: 'ellipsoid', radius: 0.1 } }),
  );
  worst.weights.forEach((weight, i) => expect(weight).toBeCloseTo(plainSolution.weights[i]!, 9));
  expect(-worst.objective).toBeCloseTo(-plainSolution.objective - 0.1, 10);
});

test('the worst variance is that of a covariance of the set, and no other of it has more', () => {
  const { metric } = createMarket({ type: 'min_variance' });
  const random = seeded(11);
  const matrix = createMetricMatrix(metric);
  const volatility = computeMetricDiagonal(metric).map(Math.sqrt);
  const spread = 0.3;
  const computeVarianceAt = (weights: Float64Array, drawError: (i: number, j: number) => number) => {
    let total = 0;
    for (let i = 0; i < NAMES; i++)
      for (let j = 0; j < NAMES; j++) {
        const error = spread * drawError(i, j) * volatility[i]! * volatility[j]!;
        total += weights[i]! * weights[j]! * (matrix[i * NAMES + j]! + error);
      }
    return total;
  };
  for (let draw = 0; draw < 20; draw++) {
    const weights = Float64Array.from({ length: NAMES }, () => random() - 0.4);
    const worst = computeWorstVariance(metric, { returns: null, spread }, weights);
    expect(computeVarianceAt(weights, (i, j) => Math.sign(weights[i]! * weights[j]!)) / worst).toBeCloseTo(1, 12);
    const signs = Float64Array.from({ length: NAMES * NAMES }, () => 2 * random() - 1);
    const anyVariance = computeVarianceAt(weights, (i, j) => signs[Math.min(i, j) * NAMES + Math.max(i, j)]!);
    expect(anyVariance).toBeLessThanOrEqual(worst);
  }
});

test('where everything may stay in cash, expected returns that are too uncertain hold nothing', () => {
  const rows = [{ type: 'WeightSum', params: { lower: 0, upper: 1 } }];
  const problem = addUncertainty(createMarket({ type: 'max_utility', risk_aversion: 2 }, rows), {
    returns: { set: 'ellipsoid', radius: 10 },
  });
  const { weights, objective } = requireSolution(problem);
  expect(Math.max(...weights)).toBeLessThan(1e-9);
  expect(Math.abs(objective)).toBeLessThan(1e-9);
});
