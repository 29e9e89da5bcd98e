import { describe, expect, test } from 'vitest';
import { certify } from '#kernels/optimisation/certified/certify.js';
import { computeExactResiduals, ExactSum } from '#kernels/optimisation/certified/residuals.js';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { seeded } from '../../../seeded.js';
import { createRandomProgram } from '../random-programs.js';
import { computeRationalResiduals } from '../rational.js';

/** Maximum residual of a certified solution. */
const CERTIFIED = 1e-9;

/**
 * Maximum difference between residuals in double-double and in rational arithmetic. It is far below the tolerance of a
 * solution.
 */
const ROUNDING = 1e-12;

/**
 * Returns random programmes in units from 1e-4 to 1e5. In such units it is hard to reach absolute residuals of 1e-9.
 */
function listProgrammes(): Program[] {
  return Array.from({ length: 60 }, (_, k) => {
    const program = createRandomProgram(k + 1, { withKinks: false, withNorms: false, namesMax: 14 });
    const random = seeded(1000 + k);
    const size = 10 ** (9 * random() - 4);
    return {
      ...program,
      curvature: 1,
      ridge: 0,
      centre: new Float64Array(program.n),
      linear: Float64Array.from({ length: program.n }, () => size * (random() - 0.5)),
      lower: program.lower.map((bound) => bound * size),
      upper: program.upper.map((bound) => bound * size),
      rows: {
        ...program.rows,
        lower: program.rows.lower.map((bound) => bound * size),
        upper: program.rows.upper.map((bound) => bound * size),
      },
    };
  });
}

describe('certified answers', () => {
  const solver = createSolver(plainAlgebra);
  const solvedOnes = listProgrammes().flatMap((program) => {
    const answer = solver.solve(program);
    return answer.status === 'solved' ? [{ program, answer, certified: certify(program, answer, plainAlgebra) }] : [];
  });

  test('most programmes of the sample have a solution', () => {
    expect(solvedOnes.length).toBeGreaterThan(25);
  });

  test('every solved programme is certified, by residuals without any rounding', () => {
    for (const { program, certified } of solvedOnes) {
      const { x, rowMultipliers, boundMultipliers } = certified.point;
      const { primal, dual, gap } = computeRationalResiduals(program, x, rowMultipliers, boundMultipliers);
      expect(certified.isCertified).toBe(true);
      expect(Math.max(primal, dual, gap)).toBeLessThanOrEqual(CERTIFIED);
    }
  });

  test('residuals in double-double agree with rational numbers, also at a point that is no optimum', () => {
    for (const { program, certified } of solvedOnes) {
      const shiftedPoint = { ...certified.point, x: certified.point.x.map((value) => value * (1 + 1e-9)) };
      for (const point of [certified.point, shiftedPoint]) {
        const exactResiduals = computeExactResiduals(program, point);
        const { primal, dual, gap } = computeRationalResiduals(
          program,
          point.x,
          point.rowMultipliers,
          point.boundMultipliers,
        );
        const isTouching = (value: number, other: number) =>
          expect(Math.abs(value - other)).toBeLessThanOrEqual(ROUNDING * (1 + other));
        isTouching(exactResiduals.primal, primal);
        isTouching(exactResiduals.dual, dual);
        isTouching(Math.abs(exactResiduals.gap), gap);
      }
    }
  });
});

describe('exact sums', () => {
  test('a sum keeps the digits that a double loses', () => {
    expect(new ExactSum().add(1e16).add(1).add(-1e16).value()).toBe(1);
  });

  test('a product is exact: (1 + u)(1 - u) - 1 = -u u', () => {
    const u = 2 ** -30;
    expect(
      new ExactSum()
        .addProduct(1 + u, 1 - u)
        .add(-1)
        .value(),
    ).toBe(-(u * u));
  });
});
