import { createColdState, createIterate } from './active-set/active-state.js';
import type { Curvatures } from './active-set/equality-system.js';
import { runInteriorPoint } from './interior-point/interior-point.js';
import type { InteriorRun } from './interior-point/work.js';
import { selectBetter, createSolution, polish, ROUTES_INSIDE } from './polish.js';
import { equilibrate } from './presolve/equilibrate.js';
import type { ProgramResult } from './program-answer.js';
import { isIndifferent, type Program } from './program/program.js';

interface InsideOptions {
  /** Number of iterations spent before. */
  readonly before: number;
  readonly run: InteriorRun;
  /** Program that replaces the original one in the interior-point method. */
  readonly elastic?: Program;
}

/**
 * Solves a program by the interior-point method and polishes the result.
 *
 * @cost  10 to 20 factorisations of all variables, and one to three of the free variables.
 */
export function solveInside(
  program: Program,
  curvatures: Curvatures,
  { before, run, elastic = program }: InsideOptions,
): { answer: ProgramResult; isConverged: boolean } {
  const inner = createIterate(program);
  const state = createColdState(program);
  const outcome = runInteriorPoint(elastic, curvatures[0], state, inner, run);
  const isConverged = outcome.status === 'optimal';
  if (isIndifferent(program)) {
    const startSolution = createSolution(
      program,
      createColdState(program),
      { ...createIterate(program), x: inner.x },
      before + outcome.iterations,
      'interior-point-unpolished',
    );
    if (startSolution.status === 'solved') return { answer: startSolution, isConverged };
  }
  const spent = before + outcome.iterations;
  const result = polish(program, curvatures, { state, iterate: inner, spent }, ROUTES_INSIDE);
  return { answer: result, isConverged };
}

/**
 * Solves a program from inside the bounds around the centre. Continues to the last digits if the optimum is within
 * tolerance but not exact.
 */
export function startFromCentre(program: Program, curvatures: Curvatures, before: number): ProgramResult {
  const { answer, isConverged } = solveInside(program, curvatures, { before, run: 'near' });
  // The optimum is within the tolerance of the run but not exact: the remaining forces are small.
  if (!isConverged || answer.status !== 'failed') return answer;
  return selectBetter(solveInside(program, curvatures, { before: answer.iterations, run: 'deep' }).answer, answer);
}

/** Solves a program from a distant start in scaled units; undefined if a norm requires the original units. */
export function solveScaled(program: Program, curvatures: Curvatures, before: number): ProgramResult | undefined {
  const scaledForm = equilibrate(program);
  if (scaledForm === null) return undefined;
  const { state, point, iterations, route } = solveInside(scaledForm.program, curvatures, {
    before,
    run: 'far',
  }).answer;
  return createSolution(program, state, scaledForm.toOriginal(point), iterations, route);
}

/** Minimum fraction of variables without variance in a flat program. */
const FLAT_SHARE = 0.5;

/**
 * Returns true if most variables have no curvature, and the program has no kinks, norms or rows with a penalty. Block
 * pivoting then has no factor, and the centre is unrelated to the optimum.
 */
export function isFlat({ n, metric, curvature, ridge, rows, kinks, norms }: Program): boolean {
  if (metric?.form !== 'dense' || !(curvature > 0) || ridge > 0 || kinks.length > 0 || norms.length > 0) return false;
  if (rows.penalty.some((penalty) => Number.isFinite(penalty))) return false;
  let flatCount = 0;
  for (let i = 0; i < n; i++) if (metric.matrix[i * n + i] === 0) flatCount++;
  return flatCount > FLAT_SHARE * n;
}
