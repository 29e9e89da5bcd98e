import { describe, expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeChoiceBound, createMoveCosts, type Moves } from '#domain/optimisation/share-relaxation.js';
import { createRestriction } from '#domain/optimisation/restriction.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { seeded } from '../../seeded.js';
import { buildProblem, solvers } from './small-problems.js';

const ROWS = [
  { type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.3 } },
  { type: 'PositionBounds', params: { upper: 0.4 } },
  { type: 'Turnover', params: { limit: 0.5, reference: 'previous' } },
];

describe('createMoveCosts', () => {
  test('no decision about a security costs less than its bound', () => {
    for (let seed = 1; seed <= 6; seed++) {
      const problem = buildProblem({ names: 12, seed, rows: ROWS, hasPrevious: true });
      const relaxedSolution = solveConvex(solvers.solver, problem)!;
      const { drop, hold, dropPart, holdPart } = createMoveCosts(plainAlgebra, problem).at(relaxedSolution, 0.05);
      let informative = 0;
      for (let i = 0; i < 12; i++) {
        const decideMove = (lower: number, upper: number) => {
          const restriction = {
            ...createRestriction([], {
              held: new Uint8Array(12).fill(1),
              short: new Uint8Array(12),
              large: [],
              isFinal: false,
            }),
          };
          restriction.least[i] = lower;
          restriction.most[i] = upper;
          return solveConvex(solvers.solver, problem, { restriction })?.value ?? Infinity;
        };
        const slack = 1e-12 + 1e-9 * relaxedSolution.value;
        expect(relaxedSolution.value + Math.max(drop[i]!, dropPart[i]!)).toBeLessThanOrEqual(decideMove(0, 0) + slack);
        expect(relaxedSolution.value + Math.max(hold[i]!, holdPart[i]!)).toBeLessThanOrEqual(
          decideMove(0.05, Infinity) + slack,
        );
        if (Math.max(drop[i]!, hold[i]!) > 0.05 * relaxedSolution.value) informative++;
      }
      expect(informative).toBeGreaterThan(2);
    }
  });
});

describe('computeChoiceBound', () => {
  test('is the least sum over all ways to hold a number of securities, also with one of them held or not', () => {
    const random = seeded(3);
    for (let trial = 0; trial < 200; trial++) {
      const count = 1 + Math.floor(random() * 6);
      const createParts = () => Float64Array.from({ length: count }, () => (random() < 0.3 ? 0 : random()));
      const moves: Moves = {
        drop: new Float64Array(count),
        hold: new Float64Array(count),
        dropPart: createParts(),
        holdPart: createParts(),
      };
      const minimum = Math.floor(random() * (count + 1));
      const maximum = minimum + Math.floor(random() * (count - minimum + 1));
      const computeSums = (fits: (code: number) => boolean) => {
        let lowest = Infinity;
        for (let code = 0; code < 2 ** count; code++) {
          const heldFlags = Array.from({ length: count }, (_, i) => (code >> i) & 1);
          const size = heldFlags.reduce((sum, value) => sum + value, 0);
          if (size < minimum || size > maximum || !fits(code)) continue;
          lowest = Math.min(
            lowest,
            heldFlags.reduce((sum, isHeld, i) => sum + (isHeld === 1 ? moves.holdPart[i]! : moves.dropPart[i]!), 0),
          );
        }
        return lowest;
      };
      const { least, ifHeld, ifDropped } = computeChoiceBound(
        moves,
        Int32Array.from({ length: count }, (_, i) => i),
        minimum,
        maximum,
      );
      expect(least).toBeCloseTo(
        computeSums(() => true),
        12,
      );
      for (let i = 0; i < count; i++) {
        const close = (actual: number, expected: number) =>
          expected === Infinity ? expect(actual).toBe(Infinity) : expect(actual).toBeCloseTo(expected, 12);
        close(
          ifHeld[i]!,
          computeSums((code) => ((code >> i) & 1) === 1),
        );
        close(
          ifDropped[i]!,
          computeSums((code) => ((code >> i) & 1) === 0),
        );
      }
    }
  });
});
