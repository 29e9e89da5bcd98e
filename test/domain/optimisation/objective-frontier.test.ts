import { describe, expect, test } from 'vitest';
import { computeObjectiveFrontier, fixChoice, listFrontierFindings } from '#domain/optimisation/frontier.js';
import { listNonConvexRows, type Problem } from '#domain/optimisation/problem.js';
import { satisfiesRow } from '#domain/optimisation/restriction.js';
import { listRowSides } from '#domain/optimisation/report.js';
import { type Solution, solveProblem } from '#domain/optimisation/search.js';
import { IS_SOAK } from '../../soak.js';
import { buildProblem, solvers } from './small-problems.js';

const OBJECTIVES = ['min_tracking_error', 'min_cvar', 'min_cdar'];

const ROWS: Readonly<Record<string, readonly object[]>> = {
  'no rows': [],
  'turnover, groups and caps': [
    { type: 'Turnover', params: { limit: 0.6 } },
    { type: 'GroupBounds', params: { field: 'SECTOR', lower: 0.1, upper: 0.3 } },
    { type: 'PositionBounds', params: { upper: 0.2 } },
  ],
  'a volatility and an effective number': [
    { type: 'Volatility', params: { limit: 0.17 } },
    { type: 'EffectiveNumber', params: { minimum: 6 } },
  ],
  'a number of names': [{ type: 'Cardinality', params: { maximum: 7 } }],
  'a rule of concentration': [{ type: 'Concentration5_10_40', params: { single: 0.3, trigger: 0.15, aggregate: 0.5 } }],
};

function solveRows(type: string, rows: readonly object[]): { problem: Problem; solution: Solution } {
  const problem = buildProblem({ names: IS_SOAK ? 14 : 10, seed: 3, rows, objective: { type } });
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind !== 'solved') throw new Error(`no answer: ${outcome.kind}`);
  return { problem, solution: outcome.solution };
}

describe.each(Object.entries(ROWS))('the frontier of an objective within %s', (_, rows) => {
  test.each(OBJECTIVES)('%s begins with its optimum, rises and is convex, and keeps every row', (type) => {
    const { problem, solution } = solveRows(type, rows);
    const means = problem.expectedReturns!;
    const input = { solver: solvers.solver, problem, means, restriction: fixChoice(problem, solution.weights) };
    const points = computeObjectiveFrontier(input)!;
    expect(points).toHaveLength(21);
    const leastRisk = type === 'min_tracking_error' ? Math.sqrt(solution.objective) : solution.objective;
    expect(points[0]!.risk).toBeCloseTo(leastRisk, 9);
    const risks = points.map(({ risk }) => risk);
    for (let k = 1; k < risks.length; k++) expect(risks[k]!).toBeGreaterThanOrEqual(risks[k - 1]! - 1e-10);
    for (let k = 1; k < risks.length - 1; k++)
      expect(risks[k]!).toBeLessThanOrEqual((risks[k - 1]! + risks[k + 1]!) / 2 + 1e-9);
    const [first, last] = [points[0]!.expected_return, points[20]!.expected_return];
    points.forEach(({ weights, expected_return: value }, k) => {
      expect(value).toBeCloseTo(first + ((last - first) * k) / 20, 9);
      for (const { label, value: measured, limit, side } of listRowSides(problem, { ...solution, weights }))
        expect([label, side === 'lower' ? measured >= limit - 1e-8 : measured <= limit + 1e-8]).toEqual([label, true]);
      for (const { row } of listNonConvexRows(problem)) expect(satisfiesRow(row, weights)).toBe(true);
    });
  });
});

test('a frontier reports the returns that it does not cover', () => {
  const listRowFindings = (type: string, rows: readonly object[], there = { hasFrontier: true, hasOwn: true }) =>
    listFrontierFindings({
      problem: buildProblem({ names: 6, seed: 1, rows, objective: { type } }),
      means: new Float64Array(6),
      ...there,
    });
  const cardinalityRows = [{ type: 'Cardinality', params: { maximum: 3 } }];
  expect(listRowFindings('min_variance', [])).toEqual([]);
  expect(listRowFindings('min_cvar', [])).toEqual([]);
  expect(listRowFindings('risk_parity', [])[0]!.message).toMatch(/mean and variance, not of risk_parity/);
  expect(listRowFindings('min_variance', cardinalityRows)[0]!.message).toMatch(
    /securities of the solution, which were selected by Cardinality/,
  );
  expect(
    listRowFindings('min_cvar', cardinalityRows, { hasFrontier: true, hasOwn: false }).map(({ severity }) => severity),
  ).toEqual(['warning', 'info']);
  expect(listRowFindings('min_variance', cardinalityRows, { hasFrontier: false, hasOwn: false })).toMatchObject([
    { severity: 'warning' },
  ]);
});
