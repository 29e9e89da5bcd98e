import { describe, expect, test } from 'vitest';
import { isFolded } from '#kernels/optimisation/interior-point/work.js';
import { createDenseMetric, createFactorMetric, createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import { seeded } from '../../seeded.js';
import {
  createBaseProgram,
  createProgramAmongRows,
  expectCertified,
  computeLargestGap,
  requireSolution,
} from './sample-programs.js';

const NAMES = 12;
const ROWS = 60;

/**
 * Returns a programme with a budget and many soft rows. The bound of each row is near its value. Most rows are
 * satisfied.
 */
function createPricedProgram(seed: number): Program {
  const random = seeded(seed);
  const { plain: baseProgram, count, coefficients } = createProgramAmongRows(NAMES, ROWS, random);
  const isUpper = Array.from({ length: count }, (_, r) => r % 3 > 0);
  const createSideWeight = (r: number, side: boolean) => (r === 0 ? 1 : isUpper[r] === side ? 0.05 * random() : null);
  return {
    ...baseProgram,
    curvature: 2,
    ridge: 0,
    rows: {
      count,
      coefficients,
      upper: Float64Array.from(isUpper, (_, r) => createSideWeight(r, true) ?? Infinity),
      lower: Float64Array.from(isUpper, (_, r) => createSideWeight(r, false) ?? -Infinity),
      penalty: Float64Array.from(isUpper, (_, r) => (r === 0 ? Infinity : 0.002 * random())),
    },
  };
}

describe('many soft rows, eliminated into the curvature', () => {
  test('leave an optimum that duality proves, with the force of each row at its value', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const program = createPricedProgram(seed);
      const { rows, linear } = program;
      expect(isFolded(program, NAMES)).toBe(true);
      const { point } = requireSolution(program);
      const tangent = linear.slice();
      for (let r = 1; r <= ROWS; r++) {
        const row = rows.coefficients.subarray(r * NAMES, r * NAMES + NAMES);
        const value = row.reduce((sum, coefficient, i) => sum + coefficient * point.x[i]!, 0);
        const sign = rows.upper[r]! < Infinity ? 1 : -1;
        const excess = sign * (value - (sign > 0 ? rows.upper[r]! : rows.lower[r]!));
        const force = sign * point.rowMultipliers[r]!;
        const penalty = rows.penalty[r]!;
        if (excess > 1e-9) expect(force).toBeCloseTo(penalty, 12);
        else if (excess < -1e-9) expect(Math.abs(force)).toBe(0);
        else expect(Math.abs(force - penalty / 2)).toBeLessThanOrEqual(penalty / 2 + 1e-14);
        row.forEach((coefficient, i) => (tangent[i]! += point.rowMultipliers[r]! * coefficient));
      }
      const hardRows = createBaseProgram(NAMES, () => 1).rows;
      const hardPoint = { ...point, rowMultipliers: point.rowMultipliers.slice(0, 1) };
      expectCertified({ ...program, linear: tangent, rows: hardRows }, hardPoint, `seed ${seed}`);
    }
  });

  test('have one answer whatever the form of the covariance', () => {
    const program = createPricedProgram(3);
    const variances = Float64Array.from({ length: NAMES }, (_, i) => 0.03 + 0.001 * i);
    const loadings = new Float64Array(NAMES).fill(0.1);
    const factors = createFactorMetric(loadings, variances);
    const wholeMetric = createDenseMetric(createMetricMatrix(factors), NAMES);
    const answers = [factors, wholeMetric].map((metric) => requireSolution({ ...program, metric }).point.x);
    expect(computeLargestGap(answers[0]!, answers[1]!)).toBeLessThan(1e-10);
  });

  test('become a sum of kinks if each concerns one security', () => {
    const random = seeded(8);
    const baseProgram = { ...createBaseProgram(40, random), curvature: 2, ridge: 0 };
    const positions = Float64Array.from({ length: 40 }, () => 0.02 * random());
    const identity = new Float64Array(41 * 40).fill(1, 0, 40);
    for (let i = 0; i < 40; i++) identity[(i + 1) * 40 + i] = 1;
    const rows = {
      count: 41,
      coefficients: identity,
      lower: Float64Array.from({ length: 41 }, (_, r) => (r === 0 ? 1 : -Infinity)),
      upper: Float64Array.from({ length: 41 }, (_, r) => (r === 0 ? 1 : positions[r - 1]!)),
      penalty: Float64Array.from({ length: 41 }, (_, r) => (r === 0 ? Infinity : 0.003)),
    };
    const kink = {
      at: positions,
      left: new Float64Array(40),
      right: new Float64Array(40).fill(0.003),
      limit: null,
      penalty: 1,
    };
    const asRows = requireSolution({ ...baseProgram, rows }).point.x;
    const asKinks = requireSolution({ ...baseProgram, kinks: [kink] }).point.x;
    expect(computeLargestGap(asRows, asKinks)).toBeLessThan(1e-10);
  });
});
