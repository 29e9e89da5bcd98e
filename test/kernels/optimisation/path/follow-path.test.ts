import { expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createColdState } from '#kernels/optimisation/program/active-state.js';
import { followPath, startEmpty } from '#kernels/optimisation/path/follow-path.js';
import { checkKkt } from '#kernels/optimisation/program/optimality.js';
import { computeMetricSquare, createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import { createPathFactors } from '#kernels/optimisation/path/factor.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { seeded } from '../../../seeded.js';
import { IS_SOAK } from '../../../soak.js';
import { createRandomProgram } from '../random-programs.js';

/** Multiplier of the number of random programmes; 3 in `npm run soak`. */
const SHARE = IS_SOAK ? 3 : 1;

const computeLargestGap = (a: Float64Array, b: ArrayLike<number>) =>
  a.reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i]!)), 0);

/**
 * Returns a random programme. The limits of its rows are the values of the rows near a feasible point. Some rows are
 * soft.
 */
function createFeasibleProgram(seed: number): Program | undefined {
  const random = seeded(seed + 50_000);
  const program = createRandomProgram(seed, { withNorms: false });
  const n = program.n;
  const softPenalties = program.rows.penalty.map((penalty, r) =>
    r > 0 && random() < 0.15 ? 0.05 * random() : penalty,
  );
  const withTarget = { ...program.rows, count: program.rows.count + 1 };
  const target = Float64Array.from({ length: n }, () => random() - 0.3);
  const coefficients = new Float64Array(withTarget.count * n);
  coefficients.set(program.rows.coefficients);
  coefficients.set(target, program.rows.count * n);
  const centreValue = target.reduce((sum, value, i) => sum + value * program.centre[i]!, 0);
  return {
    ...program,
    ridge: 1e-8,
    rows: {
      count: withTarget.count,
      coefficients,
      lower: Float64Array.of(...program.rows.lower, centreValue),
      upper: Float64Array.of(...program.rows.upper, centreValue),
      penalty: Float64Array.of(...softPenalties, Infinity),
    },
  };
}

/** Returns the programme with a different last row, or with different bounds. */
function moveProgram(program: Program, random: () => number, all: boolean): Program {
  const { count } = program.rows;
  const shift = Float64Array.from({ length: count }, (_, r) =>
    r === count - 1 || (all && r > 0) ? 0.1 * (random() - 0.5) : 0,
  );
  return {
    ...program,
    rows: {
      ...program.rows,
      lower: program.rows.lower.map((bound, r) => bound + shift[r]!),
      upper: program.rows.upper.map((bound, r) => bound + shift[r]!),
    },
  };
}

test('a followed optimum is the optimum of the programme itself, with rows, limits and prices that change on the path', () => {
  const tally = { tried: 0, followed: 0, kinked: 0, soft: 0, events: 0 };
  for (let seed = 1; seed <= 100 * SHARE; seed++) {
    const random = seeded(seed + 90_000);
    const program = createFeasibleProgram(seed)!;
    const solver = createSolver(plainAlgebra);
    const first = solver.solve(program, { effort: 'quick' });
    const next = moveProgram(program, random, seed % 2 === 0);
    const cold = createSolver(plainAlgebra).solve(next, { effort: 'quick' });
    if (first.status !== 'solved' || cold.status !== 'solved') continue;
    tally.tried++;
    const end = followPath(next, { program, point: first.point, state: first.state }, createPathFactors(plainAlgebra));
    if (end === undefined) continue;
    tally.followed++;
    tally.events += end.events;
    if (next.kinks.length > 0) tally.kinked++;
    if (next.rows.penalty.some(Number.isFinite)) tally.soft++;
    const answer = solver.solve(next, { follow: { program, point: first.point, state: first.state } });
    expect(answer.status, `seed ${seed}`).toBe('solved');
    // The ridge makes the optimum unique. In directions of singular curvature, the optimum is determined only up to
    // rounding.
    expect(computeLargestGap(answer.point.x, cold.point.x), `seed ${seed}`).toBeLessThan(1e-7);
    expect(
      Math.abs(computeObjective(next, answer.point.x) - computeObjective(next, cold.point.x)),
      `seed ${seed}`,
    ).toBeLessThan(1e-12);
  }
  expect(tally.tried).toBeGreaterThan(30 * SHARE);
  expect(tally.followed).toBeGreaterThan(0.95 * tally.tried);
  expect(tally.kinked).toBeGreaterThan(3 * SHARE);
  expect(tally.soft).toBeGreaterThan(6 * SHARE);
  expect(tally.events).toBeGreaterThan(tally.followed);
});

function computeObjective(
  { metric, curvature, ridge, centre, linear, rows, kinks, n }: Program,
  x: Float64Array,
): number {
  const offset = x.map((value, i) => value - centre[i]!);
  let total =
    (curvature / 2) * computeMetricSquare(metric!, offset) +
    (ridge / 2) * offset.reduce((sum, value) => sum + value * value, 0);
  for (let i = 0; i < n; i++) total += linear[i]! * x[i]!;
  for (let r = 0; r < rows.count; r++) {
    if (!Number.isFinite(rows.penalty[r]!)) continue;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    total += rows.penalty[r]! * Math.max(0, value - rows.upper[r]!, rows.lower[r]! - value);
  }
  kinks.forEach(({ at, left, right, limit }) => {
    if (limit === null) for (let i = 0; i < n; i++) total += (x[i]! > at[i]! ? right[i]! : left[i]!) * (x[i]! - at[i]!);
  });
  return total;
}

test('an optimum is followed to another objective', () => {
  let followedCount = 0;
  for (let seed = 1; seed <= 67 * SHARE; seed++) {
    const random = seeded(seed + 70_000);
    const program = createFeasibleProgram(seed)!;
    const first = createSolver(plainAlgebra).solve(program, { effort: 'quick' });
    const next: Program = {
      ...program,
      curvature: 0.5 + 4 * random(),
      ridge: 1e-8,
      linear: program.linear.map(() => 0.05 * (random() - 0.5)),
      centre: program.centre.map((value) => value * random()),
    };
    const cold = createSolver(plainAlgebra).solve(next, { effort: 'quick' });
    if (first.status !== 'solved' || cold.status !== 'solved') continue;
    const end = followPath(next, { program, point: first.point, state: first.state }, createPathFactors(plainAlgebra));
    if (end === undefined) continue;
    followedCount++;
    const answer = createSolver(plainAlgebra).solve(next, {
      follow: { program, point: first.point, state: first.state },
    });
    expect(answer.status).toBe('solved');
    expect(
      Math.abs(computeObjective(next, answer.point.x) - computeObjective(next, cold.point.x)),
      `seed ${seed}`,
    ).toBeLessThan(1e-12);
  }
  expect(followedCount).toBeGreaterThan(17 * SHARE);
});

test('a start that is no optimum, or of another shape, is refused', () => {
  const program = createFeasibleProgram(3)!;
  const { point, state } = createSolver(plainAlgebra).solve(program);
  const factors = createPathFactors(plainAlgebra);
  const next = moveProgram(program, seeded(1), false);
  expect(
    followPath(
      next,
      { program, point: { ...point, x: point.x.map((value, i) => value + 0.01 * (i % 2)) }, state },
      factors,
    ),
  ).toBeUndefined();
  expect(
    followPath(next, { program: { ...program, upper: program.upper.slice() }, point, state }, factors),
  ).toBeUndefined();
  expect(
    followPath(
      { ...next, norms: [{ metric: 'identity', centre: next.centre, radius: 1 }] },
      { program, point, state },
      factors,
    ),
  ).toBeUndefined();
});

test('the factor after securities entered and left is the factor of the remaining securities', () => {
  const random = seeded(12);
  const program = { ...createRandomProgram(40, { namesMax: 30, withNorms: false }), ridge: 1e-3 };
  const factors = createPathFactors(plainAlgebra);
  const matrix = createMetricMatrix(program.metric!);
  let freePositions = Int32Array.from({ length: program.n }, (_, i) => i);
  for (let round = 0; round < 40; round++) {
    const factor = factors.factorOf(program, freePositions)!;
    const b = Float64Array.from({ length: freePositions.length }, () => random());
    const solution = b.slice();
    factor.forward(solution);
    factor.backward(solution);
    expect([...factor.order.subarray(0, factor.count())].toSorted((a, c) => a - c)).toEqual([...freePositions]);
    for (let p = 0; p < freePositions.length; p++) {
      const i = factor.order[p]!;
      let total = program.ridge * solution[p]!;
      for (let q = 0; q < freePositions.length; q++)
        total += program.curvature * matrix[i * program.n + factor.order[q]!]! * solution[q]!;
      expect(total).toBeCloseTo(b[p]!, 9);
    }
    const isFree = Uint8Array.from({ length: program.n }, (_, i) =>
      freePositions.includes(i) !== random() < 0.1 ? 1 : 0,
    );
    freePositions = Int32Array.from({ length: program.n }, (_, i) => i).filter((i) => isFree[i] === 1);
    if (freePositions.length === 0) freePositions = Int32Array.of(0);
  }
});

test('a path from no holding reaches the same optimum as one from all holdings', () => {
  let count = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const random = seeded(seed + 70_000);
    const program = createFeasibleProgram(seed)!;
    const steep = {
      ...program,
      ridge: 0.01,
      kinks: program.kinks.filter(({ limit }) => limit === null),
      linear: program.linear.map(() => 4 * random() - 2),
    };
    const start = startEmpty(steep);
    if (start === undefined) continue;
    // The start is also an optimum, because every weight has a cost.
    const { primal, stationarity } = checkKkt(start.program, start.point);
    expect(Math.max(primal, stationarity), `seed ${seed}`).toBeLessThan(1e-12);
    const grownResult = createSolver(plainAlgebra).solve(steep, { follow: start });
    const other = createSolver(plainAlgebra).solve(steep, { warm: createColdState(steep) });
    expect(grownResult.status, `seed ${seed}`).toBe(other.status);
    if (other.status !== 'solved') continue;
    count++;
    expect(computeLargestGap(grownResult.point.x, other.point.x), `seed ${seed}`).toBeLessThan(1e-9);
  }
  expect(count).toBeGreaterThan(20);
});
