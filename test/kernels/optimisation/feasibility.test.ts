import { describe, expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { FEASIBILITY_TOLERANCE, findLeastViolation } from '#kernels/optimisation/feasibility.js';
import { measureInfeasibility } from '#kernels/optimisation/program/optimality.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { IS_SOAK } from '../../soak.js';
import { computeFarkasMargin } from './duality-gap.js';
import { createRandomProgram } from './random-programs.js';
import { createTrackingProgram, trackingCases } from './tracking-cases.js';

const solver = createSolver(plainAlgebra);

/** Multiplier of the number of random programmes; 3 in `npm run soak`. */
const SHARE = IS_SOAK ? 3 : 1;

describe('findLeastViolation', () => {
  test('the reference conflict has the least total relaxation and a certificate of ones', () => {
    const problem = trackingCases.find(({ id }) => id === 'o06_infeasible_group')!;
    const { program, rowIds } = createTrackingProgram(problem);
    const { violation, certificate } = findLeastViolation(solver, program);
    expect(violation).toBeCloseTo(problem.expected.elastic.minimum_total_relaxation, 12);
    const namedMultipliers = Object.fromEntries(
      rowIds.map((id, r) => [id, Math.round(certificate!.rows[r]! * 1e9) / 1e9]),
    );
    expect(namedMultipliers).toMatchObject({ budget: 1, g_a: -1, g_b: -1 });
    expect(measureInfeasibility(program, certificate!)).toBeCloseTo(0.1, 12);
  });

  test('every feasible reference problem has no violation', () => {
    for (const problem of trackingCases.filter(({ expected }) => expected.status === 'optimal')) {
      expect(findLeastViolation(solver, createTrackingProgram(problem).program).violation, problem.id).toBeLessThan(
        FEASIBILITY_TOLERANCE,
      );
    }
  });

  test('the multipliers of a proof balance on every security between its bounds, and no proof excludes a feasible point', () => {
    let proofs = 0;
    for (let seed = 2001; seed <= 2000 + 130 * SHARE; seed++) {
      const program = createRandomProgram(seed, { withKinks: false, withNorms: false });
      const { certificate, violation, x, isReliable } = findLeastViolation(solver, program);
      expect(isReliable, `seed ${seed}`).toBe(true);
      if (certificate === null) {
        expect(violation, `seed ${seed}`).toBeLessThanOrEqual(1e-9);
        continue;
      }
      proofs++;
      const { n, rows, lower, upper } = program;
      // At the point of minimum violation, the multiplier of a security is zero if its weight is strictly between its
      // bounds (Farkas).
      for (let i = 0; i < n; i++) {
        if (x[i]! <= lower[i]! + 1e-7 || x[i]! >= upper[i]! - 1e-7) continue;
        let force = 0;
        for (let r = 0; r < rows.count; r++) force += certificate.rows[r]! * rows.coefficients[r * n + i]!;
        expect(Math.abs(force), `seed ${seed}`).toBeLessThan(1e-9);
      }
      expect(solver.solve(program).status, `seed ${seed}`).not.toBe('solved');
    }
    expect(proofs).toBeGreaterThan(26 * SHARE);
  });
});

test('proofs with limits on trades and norms are proofs by the definition too, with the reported margin', () => {
  const metCounts = { rows: 0, kinks: 0, norms: 0 };
  for (let seed = 5001; seed <= 5000 + 200 * SHARE; seed++) {
    const program = createRandomProgram(seed);
    const { certificate } = findLeastViolation(solver, program);
    if (certificate === null) continue;
    const margin = computeFarkasMargin(program, certificate);
    const size = Math.max(...[...certificate.rows, ...certificate.kinks, ...certificate.norms].map(Math.abs));
    expect(margin, `seed ${seed}`).toBeGreaterThan(0);
    expect(Math.abs(margin - measureInfeasibility(program, certificate)), `seed ${seed}`).toBeLessThan(
      1e-9 * Math.max(size, 1),
    );
    expect(Math.min(...certificate.kinks, ...certificate.norms, 0), `seed ${seed}`).toBeGreaterThanOrEqual(0);
    metCounts.rows++;
    if (certificate.kinks.some((price) => price > 1e-6)) metCounts.kinks++;
    if (certificate.norms.some((weight) => weight > 0)) metCounts.norms++;
  }
  expect(metCounts.rows).toBeGreaterThan(66 * SHARE);
  expect(Math.min(metCounts.kinks, metCounts.norms)).toBeGreaterThan(6 * SHARE);
});

describe('measureInfeasibility', () => {
  test('two securities capped at a quarter cannot sum to one: half of the weight is missing', () => {
    const program = {
      ...createRandomProgram(1, { namesMax: 2, withKinks: false, withNorms: false }),
      upper: Float64Array.of(0.25, 0.25),
    };
    const rows = {
      count: 1,
      coefficients: Float64Array.of(1, 1),
      lower: Float64Array.of(1),
      upper: Float64Array.of(1),
      penalty: Float64Array.of(Infinity),
    };
    const noValues = new Float64Array(0);
    const computeGap = (y: number) =>
      measureInfeasibility(
        { ...program, rows },
        { rows: Float64Array.of(y), kinks: noValues, norms: noValues, around: new Float64Array(2) },
      );
    expect(computeGap(-1)).toBeCloseTo(0.5, 15);
    expect(computeGap(1)).toBeCloseTo(-1, 15);
    expect(computeGap(-2)).toBeCloseTo(1, 15);
  });
});
