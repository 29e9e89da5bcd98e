import { expect, test } from 'vitest';
import { removeFixedVariables } from '#kernels/optimisation/presolve/fixed-variables.js';
import { createColdState } from '#kernels/optimisation/active-set/active-state.js';
import { sumKinks, type Point, type Program } from '#kernels/optimisation/program/program.js';
import { seeded } from '../../../seeded.js';
import { objectiveOf, projectOnSimplex, createRandomProgram } from '../random-programs.js';

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);

/** Returns a random programme in which a third of the securities have fixed weights. */
function addFixed(seed: number): Program {
  const random = seeded(seed + 1000);
  const program = createRandomProgram(seed, { withNorms: false });
  const at = projectOnSimplex(random, program.n);
  const isFixed = at.map(() => Number(random() < 1 / 3));
  const fixBounds = (bounds: Float64Array) => bounds.map((bound, i) => (isFixed[i] === 1 ? at[i]! : bound));
  const linear = program.linear.map(() => random() - 0.5);
  return { ...program, linear, lower: fixBounds(program.lower), upper: fixBounds(program.upper) };
}

const computeRowValues = ({ n, rows }: Program, x: Float64Array): number[] =>
  Array.from({ length: rows.count }, (_, r) =>
    x.reduce((sum, value, i) => sum + rows.coefficients[r * n + i]! * value, 0),
  );

const createPointAt = (x: Float64Array): Point => ({
  x,
  rowMultipliers: new Float64Array(0),
  kinkMultipliers: new Float64Array(0),
  normMultipliers: new Float64Array(0),
});

const isClose = (a: number, b: number): boolean => a === b || Math.abs(a - b) < 1e-9;

test('the reduced programme has the same objective up to a constant, and the same distance to every bound', () => {
  let reducedSome = 0;
  for (const seed of SEEDS) {
    const program = addFixed(seed);
    const reduced = removeFixedVariables(program);
    const fixed = program.lower.reduce((count, bound, i) => count + (bound < program.upper[i]! ? 0 : 1), 0);
    if (reduced === null) {
      expect(fixed < 0.1 * program.n).toBe(true);
      continue;
    }
    reducedSome++;
    const random = seeded(seed);
    const few = reduced.program;
    expect(few.n).toBe(program.n - fixed);
    const [a, b] = [projectOnSimplex(random, few.n), projectOnSimplex(random, few.n)];
    const [wholeA, wholeB] = [reduced.toFull(createPointAt(a)).x, reduced.toFull(createPointAt(b)).x];
    expect(program.lower.every((bound, i) => bound < program.upper[i]! || wholeA[i] === bound)).toBe(true);
    const constants = [
      objectiveOf(program, wholeA) - objectiveOf(few, a),
      objectiveOf(program, wholeB) - objectiveOf(few, b),
    ];
    expect(isClose(constants[0]!, constants[1]!)).toBe(true);
    const [whole, part] = [computeRowValues(program, wholeA), computeRowValues(few, a)];
    for (const side of ['lower', 'upper'] as const)
      expect(whole.every((value, r) => isClose(program.rows[side][r]! - value, few.rows[side][r]! - part[r]!))).toBe(
        true,
      );
    const computeSlack = (of: Program, x: Float64Array) => of.kinks.map((kink) => kink.limit! - sumKinks(kink, x));
    expect(computeSlack(program, wholeA).every((slack, k) => isClose(slack, computeSlack(few, a)[k]!))).toBe(true);
  }
  expect(reducedSome).toBeGreaterThan(100);
});

test('a state converts to the remaining variables and back', () => {
  const program = SEEDS.map(addFixed).find(({ kinks, n }) => kinks.length > 1 && n > 10)!;
  const reduced = removeFixedVariables(program)!;
  const state = createColdState(reduced.program);
  const names = state.names.map((_, i) => (i % 3) - 1);
  const sides = state.sides.map((_, i) => (i % 2 === 0 ? 1 : -1));
  const fullState = { ...state, names, sides };
  expect(reduced.stateToReduced(reduced.stateToFull(fullState))).toEqual(fullState);
});

test('few fixed variables, crossing bounds and norms leave a programme unchanged', () => {
  const program = addFixed(SEEDS.find((seed) => removeFixedVariables(addFixed(seed)) !== null)!);
  const norm = { metric: 'identity', centre: new Float64Array(program.n), radius: 1 } as const;
  expect(removeFixedVariables({ ...program, norms: [norm] })).toBeNull();
  expect(
    removeFixedVariables({ ...program, lower: program.lower.with(0, 2), upper: program.upper.with(0, 1) }),
  ).toBeNull();
  const free = { ...program, lower: program.lower.fill(0), upper: program.upper.fill(1) };
  expect(removeFixedVariables(free)).toBeNull();
});
