import { describe, expect, test } from 'vitest';
import { solveProblem } from '#domain/optimisation/search.js';
import { IS_SOAK } from '../../soak.js';
import { openHighs, solveByHighs, type ChoiceMilp, type Highs } from './choice-milp.js';
import { buildProblem, solvers, type SmallMarket } from './small-problems.js';

const highs = await openHighs();
if (typeof highs === 'string') console.log(`Choices are not compared with HiGHS: ${highs}`);

const NAMES = 12;
const HOLDING_LIMITS = { maximum: 4, threshold: 0.1, cap: 0.4 };
const ROWS = [
  { type: 'Cardinality', params: { maximum: HOLDING_LIMITS.maximum } },
  { type: 'MinimumHolding', params: { threshold: HOLDING_LIMITS.threshold } },
  { type: 'PositionBounds', params: { upper: HOLDING_LIMITS.cap } },
];
const SECTOR_MAX = 0.5;
const TURNOVER = 0.6;
const CONFIDENCE = 0.9;

type Case = Omit<SmallMarket, 'names' | 'seed'>;

const CASES: Readonly<Record<string, Case>> = {
  'the largest return within sectors': {
    objective: { type: 'max_return' },
    rows: [...ROWS, { type: 'GroupBounds', params: { field: 'SECTOR', upper: SECTOR_MAX } }],
  },
  'the largest return within a turnover': {
    objective: { type: 'max_return' },
    rows: [...ROWS, { type: 'Turnover', params: { limit: TURNOVER, reference: 'previous' } }],
    hasPrevious: true,
  },
  'the least average loss of the worst scenarios': {
    objective: { type: 'min_cvar', confidence: CONFIDENCE },
    rows: ROWS,
  },
};

describe.skipIf(typeof highs === 'string').each(Object.entries(CASES))('a choice for %s', (_, market) => {
  test.each(IS_SOAK ? [1, 2, 3, 4] : [1, 2])('is that of a mixed-integer solver, seed %i', (seed) => {
    const problem = buildProblem({ ...market, names: NAMES, seed });
    const { goal, expectedReturns, previous } = problem;
    const milp: ChoiceMilp = {
      names: NAMES,
      goal:
        goal.form === 'tail'
          ? { kind: 'tail', returns: goal.returns, confidence: CONFIDENCE }
          : { kind: 'return', returns: expectedReturns! },
      ...HOLDING_LIMITS,
      groups: Array.from({ length: 5 }, (__, sector) => ({
        members: Array.from({ length: NAMES }, (___, i) => i).filter((i) => i % 5 === sector),
        upper: market.rows.length > ROWS.length && previous === null ? SECTOR_MAX : 1,
      })),
      ...(previous === null ? {} : { turnover: { from: previous.weights, limit: TURNOVER } }),
    };
    const expected = solveByHighs(highs as Highs, milp);
    const outcome = solveProblem(solvers, problem);
    if (expected === undefined) return expect(outcome).toEqual({ kind: 'no-choice', isProven: true });
    expect(expected.isOptimal).toBe(true);
    if (outcome.kind !== 'solved') throw new Error('no answer');
    const { weights, isHeuristic } = outcome.solution;
    expect(isHeuristic).toBe(false);
    expect(measureObjective(milp, weights)).toBeCloseTo(measureObjective(milp, expected.weights), 7);
    expect(measureObjective(milp, expected.weights)).toBeCloseTo(expected.value, 7);
  });
});

function measureObjective({ names, goal }: ChoiceMilp, weights: Float64Array): number {
  const computeReturn = (returns: Float64Array, from: number) =>
    weights.reduce((sum, weight, i) => sum + weight * returns[from + i]!, 0);
  if (goal.kind === 'return') return -computeReturn(goal.returns, 0);
  const scenarios = goal.returns.length / names;
  const losses = Array.from({ length: scenarios }, (_, t) => -computeReturn(goal.returns, t * names)).toSorted(
    (a, b) => b - a,
  );
  const worst = losses.slice(0, Math.round((1 - goal.confidence) * scenarios)); // the number of worst scenarios is whole
  return worst.reduce((sum, loss) => sum + loss, 0) / worst.length;
}
