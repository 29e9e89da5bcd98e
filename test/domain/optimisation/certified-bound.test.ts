import { describe, expect, test } from 'vitest';
import { branchAndBound, solveProblem } from '#domain/optimisation/search.js';
import { createCertifiedBound } from '#domain/optimisation/certified-bound.js';
import { listNonConvexRows } from '#domain/optimisation/problem.js';
import { createFullProgram, solveConvex } from '#domain/optimisation/convex-solve.js';
import { IS_SOAK } from '../../soak.js';
import { buildProblem, solvers, type SmallMarket } from './small-problems.js';

const COUNT = { type: 'Cardinality', params: { maximum: 5 } };
const GROUPS = { type: 'GroupCardinality', params: { field: 'SECTOR', maximum: 1 } };

const MARKETS: Readonly<Record<string, Omit<SmallMarket, 'seed' | 'names'>>> = {
  'a number': { rows: [COUNT] },
  'a number, and a least number': { rows: [{ type: 'Cardinality', params: { minimum: 4, maximum: 5 } }] },
  'a number in each group': { rows: [COUNT, GROUPS] },
  'a number and a minimum holding': { rows: [COUNT, { type: 'MinimumHolding', params: { threshold: 0.08 } }] },
  'a number and bounds': { rows: [COUNT, { type: 'PositionBounds', params: { upper: 0.3 } }] },
  'a number and a turnover': {
    rows: [COUNT, { type: 'Turnover', params: { limit: 0.6 } }],
    hasPrevious: true,
  },
  'a number of the least variance': { rows: [COUNT], objective: { type: 'min_variance' } },
  'a number of the largest utility with costs': {
    rows: [COUNT],
    objective: { type: 'max_utility', risk_aversion: 8 },
    costs: { bps: 20, impact: 0 },
    hasPrevious: true,
  },
};

const createChoice = (market: SmallMarket) => {
  const problem = buildProblem(market);
  const rows = listNonConvexRows(problem).map(({ row }) => row);
  return { problem, rows, relaxation: solveConvex(solvers.solver, problem)! };
};

describe.each(Object.entries(MARKETS))('the bound over all choices of %s', (_, market) => {
  const seeds = Array.from({ length: IS_SOAK ? 40 : 2 }, (__, seed) => seed + 1);
  test.each(seeds)('is between that of the convex rows and the optimum, seed %i', (seed) => {
    const choice = createChoice({ ...market, names: 14, seed });
    const outcome = solveProblem(solvers, choice.problem);
    if (outcome.kind !== 'solved') return expect(outcome.kind).toBe('no-choice');
    const { solution } = outcome;
    expect(solution.isHeuristic).toBe(false);
    const certifiedBound = createCertifiedBound(solvers, choice)!;
    expect(certifiedBound.bound).toBeLessThanOrEqual(solution.value + 1e-12 * Math.abs(solution.value));
    if (solution.value > choice.relaxation.bound + 1e-6)
      expect(certifiedBound.bound).toBeGreaterThan(choice.relaxation.bound);
    for (const isHeld of [false, true]) {
      // If decisions agree with the optimum, they raise the bound at most to the optimum.
      const names = solution.weights.map((weight) => (weight > 1e-9 === isHeld ? (isHeld ? 1 : 2) : 0));
      const decidedBound = certifiedBound.over(Uint8Array.from(names), certifiedBound.shares);
      expect(decidedBound!.bound).toBeLessThanOrEqual(solution.value + 1e-9 * Math.abs(solution.value));
    }
  });
});

test.each(IS_SOAK ? [1, 2, 3] : [1])(
  'an exact search with certified bounds finds the optimum in fewer nodes, seed %i',
  (seed) => {
    const choice = createChoice({ names: 26, seed, rows: [{ type: 'Cardinality', params: { maximum: 7 } }] });
    const input = {
      ...solvers,
      ...choice,
      options: { base: createFullProgram(choice.problem, {}) },
      incumbent: undefined,
      isAnyEnough: false,
    };
    const plainOutcome = branchAndBound(input);
    const certifiedBound = createCertifiedBound(solvers, choice)!;
    const result = branchAndBound({ ...input, certified: certifiedBound });
    expect([plainOutcome.isComplete, result.isComplete]).toEqual([true, true]);
    expect(result.best!.value).toBeCloseTo(plainOutcome.best!.value, 14);
    expect(result.iterations).toBeLessThan(plainOutcome.iterations / 2);
  },
);

test('an answer for many securities has a certified gap, or the proof that there is no better one', () => {
  const rows = [{ type: 'Cardinality', params: { maximum: 20 } }];
  const problem = buildProblem({ names: 60, seed: 3, rows });
  const [plainOutcome, certifiedOutcome] = ([undefined, 'quick'] as const).map((proof) =>
    solveProblem(solvers, problem, { proof }),
  );
  if (plainOutcome?.kind !== 'solved' || certifiedOutcome?.kind !== 'solved') throw new Error('no answer');
  const computeGap = ({ objective, bound }: { objective: number; bound: number }) => 1 - bound / objective;
  expect(computeGap(plainOutcome.solution)).toBeGreaterThan(0.9);
  expect(computeGap(certifiedOutcome.solution)).toBeLessThan(0.1);
  expect(certifiedOutcome.solution.objective).toBeLessThanOrEqual(plainOutcome.solution.objective);
});

test.each(['a number', 'a number in each group', 'a number and a minimum holding'])(
  'a thorough proof agrees with the exact search: %s',
  (words) => {
    const choice = createChoice({ ...MARKETS[words]!, names: 14, seed: 2 });
    const outcome = solveProblem(solvers, choice.problem);
    if (outcome.kind !== 'solved') throw new Error('no answer');
    const { value } = outcome.solution;
    const { prove } = createCertifiedBound(solvers, choice)!;
    // The bound must not exceed the optimum even if only a worse choice is known.
    const knownValue = value + 0.2 * Math.abs(value);
    expect(prove({ value: knownValue, improve: () => ({ value: knownValue, isExact: false }) })).toBeLessThanOrEqual(
      value + 1e-9 * Math.abs(value),
    );
    // The bound of a choice ignores minimum holdings. It is not exact if cardinality rows share securities.
    const cutoff = words === 'a number' ? value - 1e-6 * Math.abs(value) : 0.95 * value;
    const provenBound = prove({ value, improve: () => ({ value, isExact: false }) });
    expect(provenBound).toBeLessThanOrEqual(value);
    expect(provenBound).toBeGreaterThanOrEqual(cutoff);
  },
);

test('a choice found during the proof is the answer', () => {
  const choice = createChoice({ ...MARKETS['a number']!, names: 14, seed: 2 });
  const outcome = solveProblem(solvers, choice.problem);
  if (outcome.kind !== 'solved') throw new Error('no answer');
  const { value, weights } = outcome.solution;
  const triedChoices: Uint8Array[] = [];
  createCertifiedBound(solvers, choice)!.prove({
    value: 2 * value,
    improve: (held) => (triedChoices.push(held), { value: 2 * value, isExact: false }),
  });
  const best = weights.map((weight) => (weight > 1e-9 ? 1 : 0));
  expect(triedChoices.some((held) => held.every((isHeld, i) => isHeld === best[i]))).toBe(true);
});

test('a brief proof among few securities bounds the optimum that a quick one proves', () => {
  const rows = [{ type: 'Cardinality', params: { maximum: 15 } }];
  const problem = buildProblem({ names: 30, seed: 1, rows, objective: { type: 'min_variance' } });
  const [brief, quick] = (['brief', 'quick'] as const).map((proof) => {
    const outcome = solveProblem(solvers, problem, { proof });
    if (outcome.kind !== 'solved') throw new Error('no answer');
    return outcome.solution;
  });
  expect([quick!.isHeuristic, quick!.bound]).toEqual([false, quick!.objective]);
  expect(brief!.bound).toBeLessThanOrEqual(quick!.objective);
  expect(brief!.objective).toBeGreaterThanOrEqual(quick!.objective);
  expect(1 - brief!.bound / brief!.objective).toBeLessThan(0.01);
});
