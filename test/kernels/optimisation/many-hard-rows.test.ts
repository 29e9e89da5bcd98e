import { expect, test } from 'vitest';
import { createColdState, createIterate } from '#kernels/optimisation/program/active-state.js';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createCurvature } from '#kernels/optimisation/factors/curvature.js';
import { foldRows } from '#kernels/optimisation/interior-point/work.js';
import { runInteriorPoint } from '#kernels/optimisation/interior-point/interior-point.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import { seeded } from '../../seeded.js';
import { createProgramAmongRows, expectCertified, computeLargestGap, requireSolution } from './sample-programs.js';

const NAMES = 20;
const PLANES = 200;

/**
 * Returns a programme with a budget and with planes that touch a ball around a portfolio. Some planes bind; most do
 * not.
 */
function createPlanesProgram(seed: number): Program {
  const random = seeded(seed);
  const { plain: baseProgram, count, coefficients } = createProgramAmongRows(NAMES, PLANES, random);
  const computeRowValueAt = (r: number, x: ArrayLike<number>) =>
    coefficients.subarray(r * NAMES, (r + 1) * NAMES).reduce((sum, value, i) => sum + value * x[i]!, 0);
  const equalWeights = new Float64Array(NAMES).fill(1 / NAMES);
  const upper = Float64Array.from({ length: count }, (_, r) =>
    r === 0 ? 1 : computeRowValueAt(r, equalWeights) + 0.02,
  );
  return {
    ...baseProgram,
    curvature: 2,
    ridge: 0,
    linear: Float64Array.from({ length: NAMES }, () => 0.02 * (random() - 0.5)),
    rows: {
      count,
      coefficients,
      lower: Float64Array.from(upper, (_, r) => (r === 0 ? 1 : -Infinity)),
      upper,
      penalty: new Float64Array(count).fill(Infinity),
    },
  };
}

test('more one-sided rows than securities are eliminated, and leave the optimum that duality proves', () => {
  for (let seed = 1; seed <= 12; seed++) {
    const program = createPlanesProgram(seed);
    const rowScale = new Float64Array(1 + PLANES).fill(1);
    const freePositions = Int32Array.from({ length: NAMES }, (_, i) => i);
    expect(foldRows(program, freePositions, { rowScale, withHard: true })?.others).toEqual(Int32Array.of(0));
    const iterate = createIterate(program);
    const { status } = runInteriorPoint(program, createCurvature(plainAlgebra), createColdState(program), iterate);
    expect(status, `seed ${seed}`).toBe('optimal');
    const { point, state } = requireSolution(program);
    expect(state.rows.slice(1).filter((side) => side !== 0).length, `seed ${seed}`).toBeGreaterThan(0);
    expectCertified(program, point, `seed ${seed}`);
    expect(computeLargestGap(iterate.x, point.x), `seed ${seed}`).toBeLessThan(1e-5);
  }
});
