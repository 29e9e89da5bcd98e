import { expect, test } from 'vitest';
import { removeFixedVariables } from '#kernels/optimisation/presolve.js';
import { createColdState } from '#kernels/optimisation/program/active-state.js';
import { type Point, type Program, sumKinks } from '#kernels/optimisation/program/program.js';
import { seeded } from '../../../seeded.js';
import { computeObjective, projectOnSimplex, createRandomProgram } from '../random-programs.js';

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);

/** Returns a random programme in which a third of the securities have fixed weights. */
function addFixed(seed: number): Program {
  const random = seeded(seed + 1000);
  const program = createRandomProgram(seed, { withNorms: false });
  const weights = projectOnSimplex(random, program.n);
  const isFixed = weights.map(() => Number(random() < 1 / 3));
  const fixBounds = (bounds: Float64Array) => bounds.map((bound, i) => (isFixed[i] === 1 ? weights[i]! : bound));
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
    const reduction = removeFixedVariables(program);
    const fixedCount = program.lower.reduce((count, bound, i) => count + (bound < program.upper[i]! ? 0 : 1), 0);
    if (reduction === null) {
      expect(fixedCount < 0.1 * program.n).toBe(true);
      continue;
    }
    reducedSome++;
    const random = seeded(seed);
    const reducedProgram = reduction.program;
    expect(reducedProgram.n).toBe(program.n - fixedCount);
    const [a, b] = [projectOnSimplex(random, reducedProgram.n), projectOnSimplex(random, reducedProgram.n)];
    const [wholeA, wholeB] = [reduction.toFull(createPointAt(a)).x, reduction.toFull(createPointAt(b)).x];
    expect(program.lower.every((bound, i) => bound < program.upper[i]! || wholeA[i] === bound)).toBe(true);
    const constants = [
      computeObjective(program, wholeA) - computeObjective(reducedProgram, a),
      computeObjective(program, wholeB) - computeObjective(reducedProgram, b),
    ];
    expect(isClose(constants[0]!, constants[1]!)).toBe(true);
    const [wholeValues, partValues] = [computeRowValues(program, wholeA), computeRowValues(reducedProgram, a)];
    for (const side of ['lower', 'upper'] as const)
      expect(
        wholeValues.every((value, r) =>
          isClose(program.rows[side][r]! - value, reducedProgram.rows[side][r]! - partValues[r]!),
        ),
      ).toBe(true);
    const computeSlack = (of: Program, x: Float64Array) => of.kinks.map((kink) => kink.limit! - sumKinks(kink, x));
    expect(computeSlack(program, wholeA).every((slack, k) => isClose(slack, computeSlack(reducedProgram, a)[k]!))).toBe(
      true,
    );
  }
  expect(reducedSome).toBeGreaterThan(100);
});

test('a state converts to the remaining variables and back', () => {
  const program = SEEDS.map(addFixed).find(({ kinks, n }) => kinks.length > 1 && n > 10)!;
  const reduction = removeFixedVariables(program)!;
  const state = createColdState(reduction.program);
  const names = state.names.map((_, i) => (i % 3) - 1);
  const sides = state.sides.map((_, i) => (i % 2 === 0 ? 1 : -1));
  const fullState = { ...state, names, sides };
  expect(reduction.stateToReduced(reduction.stateToFull(fullState))).toEqual(fullState);
});

test('few fixed variables, crossing bounds and norms leave a programme unchanged', () => {
  const program = addFixed(SEEDS.find((seed) => removeFixedVariables(addFixed(seed)) !== null)!);
  const norm = { metric: 'identity', centre: new Float64Array(program.n), radius: 1 } as const;
  expect(removeFixedVariables({ ...program, norms: [norm] })).toBeNull();
  expect(
    removeFixedVariables({ ...program, lower: program.lower.with(0, 2), upper: program.upper.with(0, 1) }),
  ).toBeNull();
  const freeProgram = { ...program, lower: program.lower.fill(0), upper: program.upper.fill(1) };
  expect(removeFixedVariables(freeProgram)).toBeNull();
});
