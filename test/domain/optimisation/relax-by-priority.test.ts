import { describe, expect, test } from 'vitest';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { relaxByPriority } from '#domain/optimisation/priority-relaxation.js';
import { createProblem, type Problem } from '#domain/optimisation/problem.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { seeded } from '../../seeded.js';
import { IS_SOAK } from '../../soak.js';
import { INFEASIBLE_CASES, createRow, type Row } from './infeasible-cases.js';
import { buildProblem, solvers } from './small-problems.js';

/** Number of random cases per convex row class. */
const TRIALS = IS_SOAK ? 3 : 1;

const addPriority = (each: Row, priority: number): Row => ({ ...each, params: { ...each.params, priority } });

interface Relaxation {
  readonly row: number;
  readonly parameter: string | null;
  readonly from: number;
  readonly to: number;
}

/** Returns the rows that were relaxed and the resulting weights. Returns null if no row was relaxed. */
function relaxRows(problem: Problem): { readonly moves: readonly Relaxation[]; readonly weights: Float64Array } | null {
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind === 'solved') throw new Error('the rows hold as they are');
  const relaxation = relaxByPriority(solvers, { problem, outcome });
  if (relaxation === undefined) return null;
  const second = solveProblem(
    solvers,
    problem.withParameters(relaxation.map(({ movable: { origin, parameter }, to }) => ({ origin, parameter, to }))),
  );
  if (second.kind !== 'solved') throw new Error('the relaxation is not enough');
  return {
    moves: relaxation.map(({ movable, to }) => ({
      row: movable.origin.index!,
      parameter: movable.parameter,
      from: movable.from,
      to,
    })),
    weights: second.solution.weights,
  };
}

describe('a row with a priority is relaxed', () => {
  // Both concentration rules use the same search. The test below relaxes 5/10/40 by hand. This test includes it only in
  // the soak.
  const triedCases = Object.entries(INFEASIBLE_CASES).filter(([type]) => IS_SOAK || type !== 'Concentration5_10_40');
  const all = triedCases.flatMap(([type, parameters]) =>
    Object.values(parameters).flatMap((cases) => cases.slice(0, 1).map((each, i) => ({ type, each, i }))),
  );
  test.each(all)(
    '$type: by the least that is enough, while rows without a priority stay',
    ({ type, each: { rows: draw, names = 12 }, i }) => {
      const random = seeded(2000 + i);
      const isSearched = draw(random).some((one) =>
        CONSTRAINT_CLASSES.some((entry) => entry.type === one.type && !entry.convex),
      );
      for (let trial = 0; trial < (isSearched ? 1 : TRIALS); trial++) {
        const [first, ...otherRows] = draw(random);
        const createTrialProblem = (rows: readonly Row[]) =>
          buildProblem({ names, seed: trial + 1, rows, hasPrevious: true });
        const description = `${type} ${trial} ${JSON.stringify([first, ...otherRows])}`;
        const result = relaxRows(createTrialProblem([addPriority(first!, 1), ...otherRows]));
        expect(result, description).not.toBeNull();
        expect(new Set(result!.moves.map((move) => move.row)), description).toEqual(new Set([0]));
        // Any smaller relaxation of a row makes the problem infeasible.
        for (const smallerMove of result!.moves) {
          const isWhole =
            Number.isInteger(smallerMove.from) &&
            Number.isInteger(smallerMove.to) &&
            ['minimum', 'maximum'].includes(smallerMove.parameter!) &&
            type !== 'EffectiveNumber';
          const readRelaxedLimit = (move: Relaxation) =>
            move !== smallerMove
              ? move.to
              : isWhole
                ? move.to - Math.sign(move.to - move.from)
                : move.from + 0.99 * (move.to - move.from);
          const params = Object.fromEntries(result!.moves.map((move) => [move.parameter, readRelaxedLimit(move)]));
          expect(
            solveProblem(
              solvers,
              createTrialProblem([{ ...first!, params: { ...first!.params, ...params } }, ...otherRows]),
            ).kind,
            description,
          ).not.toBe('solved');
        }
        expect(relaxRows(createTrialProblem([first!, ...otherRows])), `${description} without a priority`).toBeNull();
        expect(
          relaxRows(createTrialProblem([addPriority(first!, 0), ...otherRows])),
          `${description} with priority zero`,
        ).toBeNull();
      }
    },
  );
});

const NAMES = ['AA', 'BB', 'CC', 'DD'];

/**
 * Returns a problem of four uncorrelated securities, each with an index weight of a quarter. 30 % of the previous
 * weight was in securities that have left.
 */
function createFourSecurities(rows: readonly Row[]): Problem {
  return createProblem({
    identifiers: NAMES,
    index: new Float64Array(4).fill(0.25),
    previous: { weights: Float64Array.of(0.4, 0.3, 0, 0), outside: 0.3 },
    metric: createDenseMetric(
      Float64Array.from({ length: 16 }, (_, k) => (k % 5 === 0 ? 0.04 : 0)),
      4,
    ),
    rows: rows.map((each) => ConstraintRow.parse(each)),
    datapoints: {
      numbers: () => new Float64Array(4),
      categories: () => ['X', 'X', 'Y', 'Y'],
      medianValueTraded: () => new Float64Array(4),
    },
  });
}

describe('by hand', () => {
  test('securities that left are sold: the allowed turnover is their weight, and no more', () => {
    // If 0.3 is sold and 0.3 is bought, the one-way turnover is 0.3.
    const { moves, weights } = relaxRows(
      createFourSecurities([createRow('Turnover', { limit: 0.15, reference: 'previous', priority: 1 })]),
    )!;
    expect(moves).toEqual([{ row: 0, parameter: 'limit', from: 0.15, to: 0.3 }]);
    // No remaining security is sold. The purchases go to the securities that are furthest below their index weight.
    expect([...weights].map((weight) => Math.round(weight * 1e8) / 1e8)).toEqual([0.4, 0.3, 0.15, 0.15]);
  });

  test('the higher number is relaxed first, and the other only if that is not enough', () => {
    const listRows = (turnover: number, cap: number) => [
      createRow('Turnover', { limit: 0.3, reference: 'previous', priority: turnover }),
      createRow('PositionBounds', { upper: 0.3, priority: cap }),
    ];
    // If AA may have at most 0.3, another 0.1 is sold.
    expect(relaxRows(createFourSecurities(listRows(2, 1)))!.moves).toEqual([
      { row: 0, parameter: 'limit', from: 0.3, to: 0.4 },
    ]);
    expect(relaxRows(createFourSecurities(listRows(1, 2)))!.moves).toEqual([
      { row: 1, parameter: 'upper', from: 0.3, to: 0.4 },
    ]);
  });

  test('a row with a choice of securities moves one number where that is enough, and by the least', () => {
    const rows = [
      createRow('Turnover', { limit: 0.15, reference: 'previous', priority: 2 }),
      createRow('Concentration5_10_40', { single: 0.45, trigger: 0.1, aggregate: 0.5, priority: 1 }),
    ];
    // Nothing is sold: AA keeps 0.4 and BB 0.3. BB does not exceed a trigger of 0.3. No value of the limit on single
    // securities resolves the conflict.
    const { moves, weights } = relaxRows(createFourSecurities(rows))!;
    expect(moves).toEqual([
      { row: 0, parameter: 'limit', from: 0.15, to: expect.closeTo(0.3, 6) as number },
      { row: 1, parameter: 'trigger', from: 0.1, to: expect.closeTo(0.3, 6) as number },
    ]);
    expect(Math.max(...weights)).toBeLessThanOrEqual(0.45);
  });

  test('rows without a number are widened: an exclusion, a frozen name, the budget, the ban on short positions', () => {
    const roundWeights = (weights: Float64Array) => [...weights].map((weight) => Math.round(weight * 1e7) / 1e7);
    const cappedRow = createRow('PositionBounds', { upper: 0.3 });
    const exclusion = relaxRows(
      createFourSecurities([cappedRow, createRow('Exclude', { identifiers: ['AA'], priority: 1 })]),
    )!;
    expect(exclusion.moves).toEqual([{ row: 1, parameter: null, from: 0, to: expect.closeTo(0.1, 8) as number }]);
    expect(roundWeights(exclusion.weights)).toEqual([0.1, 0.3, 0.3, 0.3]);
    const frozenRelaxation = relaxRows(
      createFourSecurities([
        cappedRow,
        createRow('Freeze', { identifiers: ['AA'], reference: 'previous', priority: 3 }),
      ]),
    )!;
    expect(frozenRelaxation.moves).toEqual([
      { row: 1, parameter: null, from: 0, to: expect.closeTo(0.1, 8) as number },
    ]);
    expect(frozenRelaxation.weights[0]).toBeCloseTo(0.3, 8);
    const relaxation = relaxRows(
      createFourSecurities([createRow('PositionBounds', { upper: 0.2 }), createRow('FullInvestment', { priority: 1 })]),
    )!;
    expect(relaxation.moves).toEqual([{ row: 1, parameter: null, from: 0, to: expect.closeTo(0.2, 8) as number }]);
    expect(roundWeights(relaxation.weights)).toEqual([0.2, 0.2, 0.2, 0.2]);
    const shortRelaxation = relaxRows(
      createFourSecurities([
        createRow('LinearConstraint', { coefficients: { AA: 1 }, upper: -0.05 }),
        createRow('LongOnly', { priority: 1 }),
      ]),
    )!;
    expect(shortRelaxation.moves).toEqual([
      { row: 1, parameter: null, from: 0, to: expect.closeTo(0.05, 8) as number },
    ]);
    expect(shortRelaxation.weights[0]).toBeCloseTo(-0.05, 8);
  });

  test('a limit on trades that no number of its row moves is widened where nothing else helps', () => {
    // Securities without traded value cannot be traded. The previous weights sum to 0.7.
    const { moves } = relaxRows(createFourSecurities([createRow('Liquidity', { notional: 1e6, priority: 1 })]))!;
    expect(moves).toMatchObject([{ row: 0, parameter: null }]);
    // The missing 0.3 is divided among four securities.
    expect(moves[0]!.to).toBeCloseTo(0.075, 8);
  });

  test('rows that are not relaxed and conflict leave no solution', () => {
    expect(
      relaxRows(
        createFourSecurities([
          createRow('PositionBounds', { upper: 0.2 }),
          createRow('Turnover', { limit: 0.1, reference: 'previous', priority: 5 }),
        ]),
      ),
    ).toBeNull();
  });
});

test.each([6, 7, 8])(
  'an effective number of more than %i securities is relaxed to that number, which is the maximum',
  (names) => {
    const rows = [createRow('EffectiveNumber', { minimum: 9, priority: 1 })];
    expect(relaxRows(buildProblem({ names, seed: 3, rows }))!.moves).toEqual([
      { row: 0, parameter: 'minimum', from: 9, to: names },
    ]);
  },
);
