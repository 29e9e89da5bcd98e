import { describe, expect, test } from 'vitest';
import { relaxByPriority } from '#domain/optimisation/priority-relaxation.js';
import { explainChoice } from '#domain/optimisation/infeasibility.js';
import { toRelaxation } from '#domain/optimisation/relaxation.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { IS_SOAK } from '../../soak.js';
import { buildProblem, solvers } from './small-problems.js';

/**
 * Maximum number of securities that are held, overall (`maximum`) and per group (`each`), and the bounds of their
 * weights.
 */
interface CardinalityTerms {
  readonly maximum: number;
  readonly cap?: number;
  readonly threshold?: number;
  readonly each?: number;
}

/**
 * Computes the smallest one-way turnover over all choices of securities. For a choice it is the larger of two sums: the
 * required sales and the required purchases.
 */
function computeLeastTurnover(
  from: Float64Array,
  { maximum, cap = 1, threshold = 0, each = from.length }: CardinalityTerms,
): number {
  let lowest = Infinity;
  for (let choice = 1; choice < 2 ** from.length; choice++) {
    const heldFlags = Array.from(from, (_, i) => (choice >> i) % 2 === 1);
    const count = heldFlags.filter(Boolean).length;
    const countHeldIn = (g: number) => heldFlags.filter((isHeld, i) => isHeld && i % 5 === g).length;
    if (
      count > maximum ||
      count * cap < 1 ||
      count * threshold > 1 ||
      [0, 1, 2, 3, 4].some((g) => countHeldIn(g) > each)
    )
      continue;
    const sum = (part: (weight: number, i: number) => number) =>
      from.reduce((all, weight, i) => all + part(weight, i), 0);
    const soldWeight = sum((weight, i) => Math.max(0, heldFlags[i] ? weight - cap : weight));
    const boughtWeight = sum((weight, i) => Math.max(0, heldFlags[i] ? threshold - weight : 0));
    lowest = Math.min(lowest, Math.max(soldWeight, boughtWeight));
  }
  return lowest;
}

describe('a limit on turnover too low for a choice of securities', () => {
  const turnover = { type: 'Turnover', params: { limit: 0.05, reference: 'previous', priority: 1 } };

  test.each<[CardinalityTerms, ...object[]]>([
    [
      { maximum: 4, cap: 0.35 },
      { type: 'PositionBounds', params: { upper: 0.35 } },
    ],
    [
      { maximum: 4, threshold: 0.2 },
      { type: 'MinimumHolding', params: { threshold: 0.2 } },
    ],
    [
      { maximum: 5, each: 1 },
      { type: 'GroupCardinality', params: { field: 'SECTOR', maximum: 1 } },
    ],
  ])('is reported with the least limit of all choices: %o', (choices, ...otherRows) => {
    // The search for the largest return with caps and thresholds takes long. So it runs only in the soak.
    const objectives =
      IS_SOAK || choices.each !== undefined ? ['min_tracking_error', 'max_return'] : ['min_tracking_error'];
    for (const [seed, type] of objectives.entries()) {
      const rows = [turnover, { type: 'Cardinality', params: { maximum: choices.maximum } }, ...otherRows];
      const problem = buildProblem({ names: 9, seed, rows, hasPrevious: true, objective: { type } });
      const leastTurnover = computeLeastTurnover(problem.previous!.weights, choices);
      const { relaxations } = explainChoice(solvers, problem, true);
      const report = relaxations.find((each) => each.type === 'Turnover')!;
      expect([report.to, report.bound]).toEqual([expect.closeTo(leastTurnover, 6), undefined]);
      const solveAtBound = (to: number) =>
        solveProblem(solvers, problem.withParameters([{ origin: problem.origins[0]!, parameter: 'limit', to }]));
      expect([solveAtBound(report.to).kind, solveAtBound(report.to - 1e-6).kind]).toEqual(['solved', 'no-choice']);
      const [relaxation] = relaxByPriority(solvers, { problem, outcome: { kind: 'no-choice', isProven: true } })!;
      expect([relaxation!.to, relaxation!.bound]).toEqual([expect.closeTo(leastTurnover, 6), undefined]);
    }
  });

  test('is reported with the proven bound if that is less than the found value', () => {
    const rows = [
      turnover,
      { type: 'Cardinality', params: { maximum: 12 } },
      { type: 'Volatility', params: { limit: 0.14 } },
    ];
    const problem = buildProblem({ names: 60, seed: 4, rows, hasPrevious: true });
    const { weights } = problem.previous!;
    const [relaxation] = relaxByPriority(solvers, { problem, outcome: { kind: 'no-choice', isProven: false } })!;
    // With so few securities, every objective has the same minimum.
    const largest = weights.toSorted().subarray(-12);
    const provenRest = 1 - largest.reduce((sum, weight) => sum + weight, 0);
    expect(relaxation!.bound).toBeCloseTo(provenRest, 9);
    expect(relaxation!.to).toBeGreaterThan(provenRest);
    const { bound, gap, from, to } = toRelaxation(relaxation!);
    expect(gap).toBeCloseTo((to - bound!) / (to - from), 12);
  });
});

describe('an effective number with a number of securities', () => {
  const minimiseCount = (minimum: number, counts: readonly object[]) =>
    solveProblem(
      solvers,
      buildProblem({ names: 60, seed: 3, rows: [{ type: 'EffectiveNumber', params: { minimum } }, ...counts] }),
    );
  const COUNTS: readonly (readonly [string, number, object])[] = [
    ['in all', 12, { type: 'Cardinality', params: { maximum: 12 } }],
    ['a group', 15, { type: 'GroupCardinality', params: { field: 'SECTOR', maximum: 3 } }],
  ];

  test.each(COUNTS)('that is not allowed is proven to leave no choice: %s', (_, allowed, row) => {
    expect(minimiseCount(allowed + 0.01, [row])).toEqual({ kind: 'no-choice', isProven: true });
    expect(minimiseCount(allowed - 1, [row]).kind).toBe('solved');
  });
});

describe('trades too small for a choice of securities', () => {
  /**
   * Returns true if a choice is feasible. The held weights must reach the threshold, and it must be possible to sell
   * the other holdings.
   */
  function isFeasible(from: Float64Array, { size, threshold = 0, maximum = from.length }: Trades): boolean {
    for (let choice = 1; choice < 2 ** from.length; choice++) {
      const heldFlags = Array.from(from, (_, i) => (choice >> i) % 2 === 1);
      if (heldFlags.filter(Boolean).length > maximum) continue;
      const lowerWeights = from.map((weight, i) => (heldFlags[i] ? Math.max(threshold, weight - size) : 0));
      const upperWeights = from.map((weight, i) => (heldFlags[i] ? weight + size : 0));
      const isReached = from.every((weight, i) =>
        heldFlags[i] ? lowerWeights[i]! <= upperWeights[i]! : weight <= size,
      );
      const computeTotal = (weights: Float64Array) => weights.reduce((sum, weight) => sum + weight, 0);
      if (isReached && computeTotal(lowerWeights) <= 1 && computeTotal(upperWeights) >= 1) return true;
    }
    return false;
  }

  interface Trades {
    readonly size: number;
    readonly threshold?: number;
    readonly maximum?: number;
  }

  /** Returns the value nearest to `from` at which `holds` is true. It must be true at `end`. */
  function findNearest(from: number, end: number, holds: (value: number) => boolean): number {
    let [near, far] = [from, end];
    for (let step = 0; step < 60; step++) {
      const middle = (near + far) / 2;
      if (holds(middle)) far = middle;
      else near = middle;
    }
    return far;
  }

  test.each([1, 2, 3])('are reported with the least threshold, size and number, seed %i', (seed) => {
    const [names, size] = [8, 0.01];
    const { weights: from } = buildProblem({ names, seed, rows: [], hasPrevious: true }).previous!;
    const threshold = [...from].toSorted((a, b) => a - b)[3]! + 0.02;
    const trade = { type: 'TradeSize', params: { upper: size, reference: 'previous' } };
    const countMovedBy = (...otherRows: readonly object[]) => {
      const problem = buildProblem({ names, seed, rows: [trade, ...otherRows], hasPrevious: true });
      expect(solveProblem(solvers, problem).kind).toBe('no-choice');
      const { relaxations } = explainChoice(solvers, problem, true);
      return Object.fromEntries(relaxations.map(({ type, parameter, to }) => [`${type} ${parameter}`, to]));
    };
    const movesByRow = countMovedBy({ type: 'MinimumHolding', params: { threshold } });
    const leastThreshold = findNearest(threshold, 0, (value) => isFeasible(from, { size, threshold: value }));
    expect(movesByRow['MinimumHolding threshold']).toBeCloseTo(leastThreshold, 7);
    expect(movesByRow['TradeSize upper']).toBeCloseTo(
      findNearest(size, 1, (value) => isFeasible(from, { size: value, threshold })),
      7,
    );
    const countedMoves = countMovedBy({ type: 'Cardinality', params: { maximum: 4 } });
    const fewest = Array.from({ length: names }, (_, k) => k + 1).find((maximum) =>
      isFeasible(from, { size, maximum }),
    );
    expect(countedMoves['Cardinality maximum']).toBe(fewest);
    expect(countedMoves['TradeSize upper']).toBeCloseTo(
      findNearest(size, 1, (value) => isFeasible(from, { size: value, maximum: 4 })),
      7,
    );
  });
});
