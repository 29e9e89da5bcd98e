import { describe, expect, test } from 'vitest';
import { findBestLargeSecurities } from '#domain/optimisation/name-search.js';
import { listNonConvexRows } from '#domain/optimisation/problem.js';
import { createRestriction, listHeldPositions } from '#domain/optimisation/restriction.js';
import { type ConvexSolution, solveConvex } from '#domain/optimisation/convex-solve.js';
import { buildProblem, solvers } from './small-problems.js';

const NAMES = 24;

describe('the securities that may exceed a trigger', () => {
  const limits = [0.25, 0.4, 0.55, 0.7].flatMap((aggregate) =>
    [0.04, 0.06, 0.09].flatMap((trigger) => [1, 2, 3].map((seed) => ({ aggregate, trigger, seed }))),
  );

  test('are as many as the best of all numbers of them', () => {
    let [tried, all] = [0, 0];
    for (const { aggregate, trigger, seed } of limits) {
      const row = { type: 'Concentration5_10_40', params: { single: 0.2, trigger, aggregate } };
      const problem = buildProblem({ names: NAMES, seed, rows: [row] });
      const rows = listNonConvexRows(problem).map(({ row: own }) => own);
      const heldFlags = new Uint8Array(NAMES).fill(1);
      const solve = (large: Uint8Array): { readonly solution: ConvexSolution } | undefined => {
        const restriction = createRestriction(rows, {
          held: heldFlags,
          short: new Uint8Array(NAMES),
          large: [large],
          isFinal: true,
        });
        const solution = solveConvex(solvers.solver, problem, { restriction });
        return solution === undefined ? undefined : { solution };
      };
      const { weights } = solveConvex(solvers.solver, problem)!;
      const order = Array.from(listHeldPositions(heldFlags)).toSorted((a, b) => weights[b]! - weights[a]! || a - b);
      const values = Array.from({ length: Math.min(NAMES, Math.floor(aggregate / trigger)) + 1 }, (_, size) => {
        const large = new Uint8Array(NAMES);
        for (const i of order.slice(0, size)) large[i] = 1;
        return solve(large)?.solution.value ?? Infinity;
      });
      const result = findBestLargeSecurities({
        rows: rows.filter((own) => own.form === 'concentration'),
        held: heldFlags,
        weights,
        isLong: true,
        solve(large) {
          tried++;
          return solve(large);
        },
      });
      all += values.length;
      const lowest = Math.min(...values);
      if (lowest === Infinity) expect(result).toBeUndefined();
      else expect(result!.solution.value).toBeLessThanOrEqual(lowest + 1e-12);
    }
    expect(tried).toBeLessThan(0.8 * all);
  });
});
