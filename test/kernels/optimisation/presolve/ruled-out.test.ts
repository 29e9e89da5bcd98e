import { expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { findLeastViolation } from '#kernels/optimisation/feasibility.js';
import { isProgramRuledOut } from '#kernels/optimisation/presolve.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { projectOnSimplex, createRandomProgram } from '../random-programs.js';
import { seeded } from '../../../seeded.js';

test('an infeasible box has a proof by multipliers, and no feasible programme is excluded', () => {
  const solver = createSolver(plainAlgebra);
  let ruledOut = 0;
  for (let seed = 7001; seed <= 7150; seed++) {
    const program = createRandomProgram(seed, { withNorms: false });
    const isOut = isProgramRuledOut(program);
    if (isOut) expect(findLeastViolation(solver, program).certificate, `seed ${seed}`).not.toBeNull();
    if (isOut) expect(solver.solve(program), `seed ${seed}`).toMatchObject({ status: 'infeasible', iterations: 0 });
    ruledOut += Number(isOut);
  }
  expect(ruledOut).toBeGreaterThan(15);
});

test('crossing bounds, and trade limits below the forced trades, are infeasible', () => {
  const program = { ...createRandomProgram(3, { withKinks: false, withNorms: false }) };
  const n = program.n;
  const weights = projectOnSimplex(seeded(5), n);
  const wideProgram = { ...program, lower: new Float64Array(n), upper: new Float64Array(n).fill(1) };
  const rows = {
    ...program.rows,
    lower: program.rows.lower.map(() => -Infinity),
    upper: program.rows.upper.map(() => 9),
  };
  const openProgram = { ...wideProgram, rows };
  expect(isProgramRuledOut(openProgram)).toBe(false);
  expect(
    isProgramRuledOut({ ...openProgram, lower: openProgram.lower.with(1, 0.3), upper: openProgram.upper.with(1, 0.2) }),
  ).toBe(true);
  // A security whose weight must decrease by 0.2 trades at least 0.2.
  const kink = {
    at: weights.with(0, 0.5),
    left: new Float64Array(n).fill(-1),
    right: new Float64Array(n).fill(1),
    penalty: Infinity,
  };
  const soldProgram = { ...openProgram, upper: openProgram.upper.with(0, 0.3) };
  expect(isProgramRuledOut({ ...soldProgram, kinks: [{ ...kink, limit: 0.19 }] })).toBe(true);
  expect(isProgramRuledOut({ ...soldProgram, kinks: [{ ...kink, limit: 0.21 }] })).toBe(false);
});
