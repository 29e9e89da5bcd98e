import { describe, expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createNeighbourBound } from '#domain/optimisation/neighbour-bound.js';
import { listNonConvexRows } from '#domain/optimisation/problem.js';
import { type HeldChoice, createRestriction, listHeldPositions } from '#domain/optimisation/restriction.js';
import { createFullProgram, solveConvex } from '#domain/optimisation/convex-solve.js';
import { seeded } from '../../seeded.js';
import { buildProblem, solvers } from './small-problems.js';

const NAMES = 16;
const CHOICE_ROWS = [
  { type: 'Cardinality', params: { maximum: 9 } },
  { type: 'MinimumHolding', params: { threshold: 0.03 } },
  { type: 'Concentration5_10_40', params: { single: 0.3, trigger: 0.12, aggregate: 0.6 } },
];
const OTHER_ROWS: readonly (readonly [string, readonly object[]])[] = [
  ['no further row', []],
  ['groups', [{ type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.35 } }]],
  ['a turnover limit', [{ type: 'Turnover', params: { limit: 0.5, reference: 'previous' } }]],
  ['a volatility', [{ type: 'Volatility', params: { limit: 0.2 } }]],
  ['an effective number', [{ type: 'EffectiveNumber', params: { minimum: 7 } }]],
  ['soft bounds', [{ type: 'PositionBounds', params: { upper: 0.1, soft: 0.01 } }]],
];

describe('the largest possible gain of a neighbouring choice of securities', () => {
  test.each(OTHER_ROWS)('is never less than it gains, with %s', (_, otherRows) => {
    let [compared, told] = [0, 0];
    for (let seed = 1; seed <= 6; seed++) {
      const { before, ways } = listNeighbourBounds(seed, otherRows);
      for (const { least, change } of ways) {
        compared++;
        expect(least).toBeLessThanOrEqual(change + 1e-9 * before);
        if (least > 0) told++;
      }
    }
    expect(compared).toBeGreaterThan(50);
    expect(told).toBeGreaterThan(compared / 4); // bounds that are rarely positive would exclude nothing
  });
});

/** Returns lower bounds for the neighbours of a random choice, each with the actual change. */
function listNeighbourBounds(seed: number, otherRows: readonly object[]) {
  const problem = buildProblem({ names: NAMES, seed, rows: [...CHOICE_ROWS, ...otherRows], hasPrevious: true });
  const rows = listNonConvexRows(problem).map(({ row }) => row);
  const base = createFullProgram(problem, {});
  const random = seeded(100 + seed);
  const shortFlags = new Uint8Array(NAMES);
  const first: HeldChoice = {
    held: Uint8Array.from({ length: NAMES }, (_, i) => (i < 9 ? 1 : 0)),
    short: shortFlags,
    large: [Uint8Array.from({ length: NAMES }, (_, i) => (i < 3 ? 1 : 0))],
    isFinal: true,
  };
  const solve = (choice: HeldChoice) =>
    solveConvex(solvers.solver, problem, { base, restriction: createRestriction(rows, choice) });
  const solution = solve(first);
  if (solution === undefined) return { before: 0, ways: [] };
  const choices = Array.from({ length: 30 }, (): HeldChoice => {
    const [leaving, entering] = [Math.floor(9 * random()), 9 + Math.floor(7 * random())];
    const isSwap = random() < 0.6;
    const heldFlags = isSwap ? first.held.with(leaving, 0).with(entering, 1) : first.held;
    const large = first.large.map((set) => set.with(Math.floor(3 * random()), 0).with(3 + Math.floor(6 * random()), 1));
    return { held: heldFlags, short: shortFlags, large: isSwap ? first.large : large, isFinal: true };
  });
  const computeBound = createNeighbourBound(plainAlgebra, {
    problem,
    base: base.program,
    solution,
    restriction: createRestriction(rows, first),
    names: listHeldPositions(new Uint8Array(NAMES).fill(1)),
  })!;
  const ways = choices.flatMap((choice) => {
    const change = solve(choice);
    const leastBound = computeBound(createRestriction(rows, choice));
    return change === undefined ? [] : [{ least: leastBound, change: change.value - solution.value }];
  });
  return { before: Math.abs(solution.value), ways };
}
