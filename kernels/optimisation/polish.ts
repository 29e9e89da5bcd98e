import { runActiveSet } from './active-set/active-set.js';
import { copyIterate, copyState, type ActiveState, type Iterate } from './active-set/active-state.js';
import type { Curvatures } from './active-set/equality-system.js';
import type { ProgramResult } from './program-answer.js';
import { checkKkt, isOptimal, type KktReport } from './program/kkt.js';
import type { Point, Program } from './program/program.js';

/** Maximum numbers of active-set iterations of three successive polishes. One to three iterations are usual. */
const POLISH_ITERATIONS = [40, 1, 0];

/** Solution to polish, with the number of iterations spent so far. */
export interface UnpolishedSolution {
  readonly state: ActiveState;
  readonly iterate: Iterate;
  readonly spent: number;
}

/** Routes reported for a polished solution and for an unchanged one. */
export type Routes = readonly [ProgramResult['route'], ProgramResult['route']];
export const ROUTES_INSIDE: Routes = ['interior-point', 'interior-point-unpolished'];
export const ROUTES_CORNER: Routes = ['simplex', 'simplex'];

/**
 * Polishes a solution, first with an active set that may change, then with a fixed one, then leaves it unchanged.
 * Returns the first optimal solution, otherwise the solution nearest to an optimum.
 */
export function polish(
  program: Program,
  curvatures: Curvatures,
  { state, iterate, spent }: UnpolishedSolution,
  [after, without]: Routes,
): ProgramResult {
  let bestResult: ProgramResult | undefined;
  for (const iterationsMax of POLISH_ITERATIONS) {
    const point = copyIterate(iterate);
    const activeState = copyState(state);
    const steps =
      iterationsMax === 0
        ? 0
        : runActiveSet(program, curvatures, activeState, point, { iterationsMax, nearby: true }).iterations;
    const result = createSolution(program, activeState, point, spent + steps, iterationsMax === 0 ? without : after);
    if (result.status === 'solved') return result;
    if (bestResult === undefined || findLargestResidual(result.kkt) < findLargestResidual(bestResult.kkt))
      bestResult = result;
  }
  return bestResult!;
}

/** Returns the solution nearer to an optimum. */
export function selectBetter(programResult: ProgramResult, otherProgramResult: ProgramResult): ProgramResult {
  return findLargestResidual(programResult.kkt) < findLargestResidual(otherProgramResult.kkt)
    ? programResult
    : otherProgramResult;
}

const findLargestResidual = ({ primal, stationarity, multipliers }: KktReport) =>
  Math.max(primal, stationarity, multipliers);

/** Checks a point against the optimality conditions and returns it as an answer. @cost n^2 + m n */
export function createSolution(
  program: Program,
  state: ActiveState,
  point: Point,
  iterations: number,
  route: ProgramResult['route'],
): ProgramResult {
  const kkt = checkKkt(program, point);
  return { status: isOptimal(kkt) ? 'solved' : 'failed', point, state, kkt, iterations, route };
}
