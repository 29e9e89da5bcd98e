import { describe, expect, test } from 'vitest';
import { priceChoice, type Solution, solveProblem } from '#domain/optimisation/search.js';
import { listNonConvexRows, type Problem } from '#domain/optimisation/problem.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { buildProblem, solvers, type SmallMarket } from './small-problems.js';

const COUNT = { type: 'Cardinality', params: { maximum: 4 } };
const CAP = { type: 'PositionBounds', params: { upper: 0.4 } };
const TURNOVER = { type: 'Turnover', params: { limit: 0.7 } };
const HOLDING = { type: 'MinimumHolding', params: { threshold: 0.1 } };
const objective = { type: 'max_return' };

const MARKETS: Readonly<Record<string, Omit<SmallMarket, 'seed' | 'names'>>> = {
  'a number, bounds and a turnover': { rows: [COUNT, CAP, TURNOVER], hasPrevious: true, objective },
  'a minimum holding as well': { rows: [COUNT, CAP, TURNOVER, HOLDING], hasPrevious: true, objective },
  'a number in each group and costs': {
    rows: [COUNT, CAP, { type: 'GroupCardinality', params: { field: 'SECTOR', maximum: 1 } }],
    hasPrevious: true,
    costs: { bps: 300, impact: 0 },
    objective,
  },
};

const priceRows = (problem: Problem) =>
  priceChoice({
    problem,
    rows: listNonConvexRows(problem).map(({ row }) => row),
    relaxation: solveConvex(solvers.solver, problem)!,
  });

function solveByChoice(problem: Problem): Solution {
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind !== 'solved') throw new Error('no answer');
  return outcome.solution;
}

describe.each(Object.entries(MARKETS))('the bound of a linear objective with %s', (_, market) => {
  test.each([1, 2, 3])('is between that of the convex rows and the optimum, seed %i', (seed) => {
    const problem = buildProblem({ ...market, names: 14, seed });
    const relaxedSolution = solveConvex(solvers.solver, problem)!;
    const exactSolution = solveByChoice(problem);
    expect(exactSolution.isHeuristic).toBe(false);
    const { bound } = priceRows(problem)!;
    expect(bound).toBeLessThanOrEqual(exactSolution.objective + 1e-9);
    expect(bound).toBeGreaterThanOrEqual(relaxedSolution.objective - 1e-9);
    if (exactSolution.objective > relaxedSolution.objective + 1e-3)
      expect(bound - relaxedSolution.objective).toBeGreaterThan(
        0.3 * (exactSolution.objective - relaxedSolution.objective),
      );
  });
});

test('the largest return of a number of many securities is within a thousandth of its bound', () => {
  const problem = buildProblem({
    names: 120,
    seed: 1,
    rows: [
      { type: 'Cardinality', params: { maximum: 30 } },
      { type: 'PositionBounds', params: { upper: 0.1 } },
      { type: 'MinimumHolding', params: { threshold: 0.01 } },
      { type: 'Turnover', params: { limit: 0.8 } },
    ],
    hasPrevious: true,
    objective,
  });
  const relaxedSolution = solveConvex(solvers.solver, problem)!;
  const { objective: value, bound } = solveByChoice(problem);
  expect(bound).toBeGreaterThan(relaxedSolution.objective);
  expect(value).toBeLessThan(bound + 1e-3 * Math.abs(value));
});

test('other objectives and short positions are not priced', () => {
  expect(priceRows(buildProblem({ names: 14, seed: 1, rows: [COUNT] }))).toBeUndefined();
  const shortRow = { type: 'PositionBounds', params: { lower: -0.1, upper: 0.4 } };
  expect(priceRows(buildProblem({ names: 14, seed: 1, rows: [COUNT, shortRow], objective }))).toBeUndefined();
});
