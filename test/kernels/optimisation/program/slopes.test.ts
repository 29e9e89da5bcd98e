import { expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { type Point, type Program, sumKinks } from '#kernels/optimisation/program/program.js';
import { computeLagrangianSlopes } from '#kernels/optimisation/program/optimality.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { computeObjective, createRandomProgram } from '../random-programs.js';

/** Computes the Lagrangian without the terms of the bounds. */
function computeLagrangian(program: Program, point: Point, x: Float64Array): number {
  const { n, rows, kinks, norms, metric } = program;
  let total = computeObjective(program, x);
  for (let r = 0; r < rows.count; r++)
    for (let i = 0; i < n; i++) total += point.rowMultipliers[r]! * rows.coefficients[r * n + i]! * x[i]!;
  kinks.forEach((kink, k) => (total += point.kinkMultipliers[k]! * sumKinks(kink, x)));
  norms.forEach(({ centre, metric: kind }, q) => {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const entry =
          kind === 'identity' ? (i === j ? 1 : 0) : metric?.form === 'dense' ? metric.matrix[i * n + j]! : 0;
        total += (point.normMultipliers[q]! / 2) * (x[i]! - centre[i]!) * entry * (x[j]! - centre[j]!);
      }
    }
  });
  return total;
}

test('slopes are the one-sided differences of the Lagrangian', () => {
  const solver = createSolver(plainAlgebra);
  let triedCount = 0;
  for (let seed = 1; seed <= 120; seed++) {
    const program = createRandomProgram(seed, { namesMax: 8 });
    const { status, point } = solver.solve(program);
    if (status !== 'solved') continue;
    triedCount++;
    const { left, right } = computeLagrangianSlopes(program, point);
    const moveAlong = (i: number, step: number) => {
      const x = point.x.slice();
      x[i]! += step;
      return (computeLagrangian(program, point, x) - computeLagrangian(program, point, point.x)) / step;
    };
    for (let i = 0; i < program.n; i++) {
      expect(Math.abs(moveAlong(i, 1e-7) - right[i]!), `seed ${seed} name ${i}`).toBeLessThan(1e-6);
      expect(Math.abs(moveAlong(i, -1e-7) - left[i]!), `seed ${seed} name ${i}`).toBeLessThan(1e-6);
    }
  }
  expect(triedCount).toBeGreaterThan(10);
});
