import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/optimality.js';
import {
  computeOutcomes,
  computeTailAverage,
  computeTailSlopes,
  createTailGoal,
  type TailGoal,
} from '#domain/definition/tail-risk.js';
import { assembleProgram } from '#domain/optimisation/assembly.js';
import { computeFrontier } from '#domain/optimisation/frontier.js';
import { computeGoalValue } from '#domain/optimisation/goals.js';
import { solveTail } from '#domain/optimisation/tail-averages.js';
import { explainInfeasibility } from '#domain/optimisation/infeasibility.js';
import type { Problem } from '#domain/optimisation/problem.js';
import { listRowSides } from '#domain/optimisation/report.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { seeded } from '../../seeded.js';
import { IS_SOAK } from '../../soak.js';
import { buildProblem, requireSolution, solvers } from '../optimisation/small-problems.js';
import { goldenCases, createGoldenProblem } from './golden-cases.js';

interface GoldenCase {
  readonly seed: number;
  readonly objective: { readonly type: string };
  readonly rows: readonly object[];
  readonly value: number;
  readonly weights: readonly number[];
}

const file = new URL('../../../../test/golden/tails/tails.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: GoldenCase[] }; // written by make.py

const MEASURES = { CVaR: 'loss', CDaR: 'drawdown' } as const;
type Kind = keyof typeof MEASURES;

/** Returns the average that a row limits, at the given weights. */
function computeTailMeasure(problem: Problem, kind: Kind, weights: Float64Array): number {
  const goal = problem.tails.goal(MEASURES[kind], 0.9, { sessions: null, drawn: null });
  return computeTailAverage(goal, computeOutcomes(goal, weights));
}

describe('limits on the average of the worst scenarios have the optima of the cone programmes', () => {
  const quickCases = cases.filter((_, i) => IS_SOAK || i % 2 === 0);
  test.each(quickCases.map((golden) => [golden.objective.type, golden.seed, golden] as const))(
    '%s, problem %i',
    (_, seed, { objective, rows, value, weights }) => {
      const problem = createGoldenProblem({ ...goldenCases.find((each) => each.seed === seed)!, rows }, objective);
      const solution = requireSolution(problem);
      const { goal } = problem;
      const shift = goal.form === 'ratio' && goal.numerator.kind === 'evenness' ? goal.numerator.least : 0;
      const objectiveValue = (problem.objective.entry.sense === 'maximise' ? -1 : 1) * solution.objective + shift;
      expect(Math.abs(objectiveValue - value)).toBeLessThan(1e-8 * Math.abs(value) + 5e-9);
      weights.forEach((weight, i) => expect(Math.abs(solution.weights[i]! - weight)).toBeLessThan(5e-6));
      const { primal, stationarity, multipliers } = checkKkt(solution.assembled.program, solution.answer.point);
      expect(Math.max(primal, stationarity, multipliers)).toBeLessThan(1e-8);
      const [side] = listRowSides(problem, solution).filter(({ placed }) => placed.row.form === 'tail');
      expect(side).toMatchObject({ isBinding: true, side: 'upper' });
    },
  );
});

const NAMES = 12;
const createMarket = (kind: Kind, limit: number, more: object = {}, rows: readonly object[] = []) =>
  buildProblem({
    names: NAMES,
    seed: 4,
    objective: { type: 'max_utility', risk_aversion: 1 },
    rows: [{ id: 'tail', type: kind, params: { limit, confidence: 0.9, ...more } }, ...rows],
  });

/** Returns a limit between the smallest average and the average at maximum utility. */
function limitAt(kind: Kind, share: number): number {
  const freeMeasure = computeTailMeasure(createMarket(kind, 1), kind, requireSolution(createMarket(kind, 1)).weights);
  const type = kind === 'CVaR' ? 'min_cvar' : 'min_cdar';
  const leastMeasure = requireSolution(
    buildProblem({ names: NAMES, seed: 4, rows: [], objective: { type, confidence: 0.9 } }),
  ).objective;
  return leastMeasure + share * (freeMeasure - leastMeasure);
}

test.each(['CVaR', 'CDaR'] as const)('the slopes of a tail are nowhere above it, and touch it: %s', (kind) => {
  const random = seeded(2);
  const returns = Float64Array.from({ length: 40 * NAMES }, () => random() - 0.48);
  for (const confidence of [0.5, 0.93, 0.999]) {
    const goal = createTailGoal(MEASURES[kind], confidence, { returns, counts: null }, NAMES);
    const computeLossAverage = (weights: Float64Array) => computeTailAverage(goal, computeOutcomes(goal, weights));
    const draw = () => Float64Array.from({ length: NAMES }, () => random() - 0.3);
    for (let trial = 0; trial < 20; trial++) {
      const point = draw();
      const slopes = computeTailSlopes(goal, point);
      const computePortfolioReturns = (weights: Float64Array) =>
        weights.reduce((sum, weight, i) => sum + weight * slopes[i]!, 0);
      expect(computePortfolioReturns(point)).toBeCloseTo(computeLossAverage(point), 12);
      const other = draw();
      expect(computePortfolioReturns(other)).toBeLessThanOrEqual(computeLossAverage(other) + 1e-12);
    }
  }
});

test('a limit on the average of all scenarios is one on the mean loss', () => {
  const problem = createMarket('CVaR', 1, { confidence: 0 });
  const computeMean = (weights: Float64Array) => {
    const losses = computeOutcomes(problem.tails.goal('loss', 0, { sessions: null, drawn: null }), weights);
    return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
  };
  const freeMean = computeMean(requireSolution(problem).weights);
  const limitedSolution = requireSolution(createMarket('CVaR', freeMean - 1e-4, { confidence: 0 }));
  expect(computeMean(limitedSolution.weights)).toBeCloseTo(freeMean - 1e-4, 12);
});

test.each(['min_cvar', 'min_cdar'])('no weights better the bound of %s', (type) => {
  const problem = buildProblem({ names: NAMES, seed: 4, rows: [], objective: { type, confidence: 0.9 } });
  const { bound, objective } = requireSolution(problem);
  expect(objective).toBeGreaterThanOrEqual(bound);
  expect(objective - bound).toBeLessThan(1e-9);
  const random = seeded(8);
  for (let trial = 0; trial < 200; trial++) {
    const raw = Float64Array.from({ length: NAMES }, () => random() ** 4);
    const total = raw.reduce((sum, value) => sum + value, 0);
    expect(
      computeGoalValue(
        problem,
        raw.map((value) => value / total),
      ),
    ).toBeGreaterThanOrEqual(bound);
  }
});

test.each([
  ['min_cvar', { upper: 0.05 }],
  ['min_cvar', { lower: -0.004, upper: 0.05 }],
  ['min_cvar', { lower: -0.05, upper: 0.05 }],
  ['min_cdar', { upper: 0.05 }],
] as const)('of many securities few take part, and the answer is that of all: %s %j', (type, params) => {
  const rows = [{ type: 'PositionBounds', params }];
  const problem = buildProblem({ names: 130, seed: 5, rows, objective: { type, confidence: 0.9 } });
  const { objective, bound, assembled, answer } = requireSolution(problem);
  // Checks the optimality conditions for all securities at their bounds. The multipliers prove the value.
  const { program } = assembled;
  expect(program.n).toBe(130);
  const { lower = 0, upper } = params as { readonly lower?: number; readonly upper: number };
  expect([...program.lower].every((least) => least === lower)).toBe(true);
  expect([...program.upper].every((most) => most === upper)).toBe(true);
  expect(isOptimal(checkKkt(program, answer.point))).toBe(true);
  expect(objective - bound).toBeLessThan(1e-9);
});

test('work that ends before a proof leaves an answer on one side of the optimum and a bound on the other', () => {
  const rows = [{ type: 'PositionBounds', params: { lower: -0.1, upper: 0.4 } }];
  const problem = buildProblem({ names: NAMES, seed: 6, rows, objective: { type: 'min_cdar', confidence: 0.9 } });
  const optimum = requireSolution(problem).objective;
  const { program } = assembleProgram(problem);
  const zeros = new Float64Array(NAMES);
  const terms = {
    goal: problem.goal as TailGoal,
    rows: { ...program, curvature: 0, centre: zeros, linear: zeros },
    curved: [null],
    near: problem.index,
  };
  const results = [1e6, 1e7, 3e7, 1e8, 1e9].map((workMax) => solveTail(solvers.solver, { ...terms, workMax }));
  for (const answer of results) {
    if (answer === undefined) continue;
    expect(answer.value).toBeGreaterThanOrEqual(optimum - 1e-9);
    expect(answer.bound).toBeLessThanOrEqual(optimum + 1e-9);
  }
  expect(results.some((answer) => answer !== undefined && answer.value - answer.bound > 1e-4)).toBe(true);
  expect(results.at(-1)!.value - results.at(-1)!.bound).toBeLessThan(1e-9);
});

describe.each(['CVaR', 'CDaR'] as const)('a limit on %s', (kind) => {
  test('is met exactly where it binds, and is nothing where it does not', () => {
    const limit = limitAt(kind, 0.3);
    const problem = createMarket(kind, limit);
    expect(computeTailMeasure(problem, kind, requireSolution(problem).weights)).toBeCloseTo(limit, 12);
    const looseSolution = requireSolution(createMarket(kind, limitAt(kind, 1.5)));
    expect(looseSolution.objective).toBe(requireSolution(createMarket(kind, 1)).objective);
  });

  test('is no better the tighter it is, and at the value of an answer reproduces that answer', () => {
    const values = [1, 0.7, 0.4, 0.1].map(
      (share) => requireSolution(createMarket(kind, limitAt(kind, share))).objective,
    );
    values.slice(1).forEach((value, k) => expect(value).toBeGreaterThan(values[k]!));
    const freeSolution = requireSolution(createMarket(kind, 1));
    const limitedSolution = requireSolution(createMarket(kind, limitAt(kind, 1)));
    expect(limitedSolution.objective).toBeCloseTo(freeSolution.objective, 10);
    const leastSolution = requireSolution(createMarket(kind, limitAt(kind, 0) + 1e-10));
    expect(computeTailMeasure(createMarket(kind, 1), kind, leastSolution.weights)).toBeCloseTo(limitAt(kind, 0), 8);
  });

  test('that is soft is kept at a high price, violated at a low one, and costs the saving between', () => {
    const limit = limitAt(kind, 0.3);
    const hardSolution = requireSolution(createMarket(kind, limit));
    const [side] = listRowSides(createMarket(kind, limit), hardSolution).filter(
      ({ placed }) => placed.row.form === 'tail',
    );
    const problem = createMarket(kind, limit);
    const price = Math.abs(
      listRowSides(problem, requireSolution(problem)).find(({ placed }) => placed.row.form === 'tail')!.shadowPrice,
    );
    expect(side!.slack).toBeLessThan(1e-9);
    expect(requireSolution(createMarket(kind, limit, { soft: 1.01 * price })).objective).toBeCloseTo(
      hardSolution.objective,
      10,
    );
    const half = createMarket(kind, limit, { soft: 0.5 * price });
    const middleSolution = requireSolution(half);
    const measure = computeTailMeasure(half, kind, middleSolution.weights);
    expect(measure).toBeGreaterThan(limit);
    for (const step of [-1e-4, 1e-4]) {
      const besideSolution = requireSolution(createMarket(kind, measure + step));
      expect(besideSolution.objective + 0.5 * price * (measure + step - limit)).toBeGreaterThanOrEqual(
        middleSolution.value - 1e-9,
      );
    }
    expect(requireSolution(createMarket(kind, limit, { soft: 1e-6 })).objective).toBeCloseTo(
      requireSolution(createMarket(kind, 1)).objective,
      7,
    );
  });

  test('that nothing keeps is a conflict, and its least relaxation is the least average that there is', () => {
    const leastLimit = limitAt(kind, 0);
    const problem = createMarket(kind, leastLimit - 0.001, {}, [
      { id: 'pos', type: 'PositionBounds', params: { upper: 0.9 } },
    ]);
    expect(solveProblem(solvers, problem).kind).toBe('unsolved');
    const { proven, conflict, relaxations } = explainInfeasibility(solvers, problem)!;
    expect([proven, conflict.map(({ id }) => id)]).toEqual([true, expect.arrayContaining(['tail'])]);
    expect(relaxations.find(({ id }) => id === 'tail')!.to).toBeCloseTo(leastLimit, 8);
  });

  test('holds on the whole frontier, which is the old one where it does not bind', () => {
    const limit = limitAt(kind, 0.3);
    const problem = createMarket(kind, limit);
    const computeFrontierOf = (each: Problem) =>
      computeFrontier({
        solver: solvers.solver,
        problem: each,
        means: each.expectedReturns!,
        riskFreeRate: 0,
        points: 7,
      })!;
    const { points, tangency } = computeFrontierOf(problem);
    for (const { weights } of [...points, tangency!])
      expect(computeTailMeasure(problem, kind, weights)).toBeLessThan(limit + 1e-8);
    const freeFrontier = computeFrontierOf(createMarket(kind, 1));
    expect(points.at(-1)!.expected_return).toBeLessThan(freeFrontier.points.at(-1)!.expected_return);
  });

  test('goes with a choice of securities', () => {
    const limit = limitAt(kind, 0.6);
    const choice = [{ type: 'Cardinality', params: { maximum: 5 } }];
    const problem = createMarket(kind, limit, {}, choice);
    const outcome = solveProblem(solvers, problem);
    if (outcome.kind !== 'solved') throw new Error(outcome.kind);
    const { weights, objective, bound } = outcome.solution;
    expect(weights.filter((weight) => weight > 0).length).toBeLessThanOrEqual(5);
    expect(computeTailMeasure(problem, kind, weights)).toBeLessThan(limit + 1e-8);
    expect(objective).toBeGreaterThanOrEqual(bound - 1e-12);
    expect(bound).toBeGreaterThanOrEqual(requireSolution(createMarket(kind, limit)).objective - 1e-12);
  });
});
