import { LOWER, UPPER } from '#kernels/optimisation/active-set/active-state.js';
import { checkKkt, isOptimal, listPulledVariables } from '#kernels/optimisation/program/kkt.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramResult } from '#kernels/optimisation/program-answer.js';

/** Number of securities below which the program includes all of them from the start. */
export const SECURITIES_MIN = 100;

/** Maximum fraction of the securities in a reduced program. With more, the reduction saves little. */
const REDUCED_FRACTION_MAX = 0.7;

/** Distance from a bound below which a weight counts as at the bound. */
const BOUND_TOLERANCE = 1e-9;

/**
 * Returns 1 for securities whose weights are at a bound. They can be fixed there while the other securities are
 * optimised. Returns null if there are too few, or fewer than `SECURITIES_MIN` securities in all.
 */
export function findSecuritiesAtBounds({ n, lower, upper }: Program, weights: Float64Array): Uint8Array | null {
  if (n < SECURITIES_MIN) return null;
  const restingFlags = new Uint8Array(n);
  let movingCount = 0;
  for (let i = 0; i < n; i++) {
    const isAtBound = weights[i]! - lower[i]! <= BOUND_TOLERANCE || upper[i]! - weights[i]! <= BOUND_TOLERANCE;
    if (isAtBound) restingFlags[i] = 1;
    else movingCount++;
  }
  return movingCount <= REDUCED_FRACTION_MAX * n ? restingFlags : null;
}

/** Fixes the securities of `resting` at the bound at which their weights are. */
export function restoreSecuritiesAtBounds(rows: Program, resting: Uint8Array | null, weights: Float64Array): Program {
  if (resting === null) return rows;
  const [lower, upper] = [rows.lower.slice(), rows.upper.slice()];
  for (let i = 0; i < rows.n; i++) {
    if (resting[i] === 0) continue;
    if (weights[i]! - lower[i]! <= upper[i]! - weights[i]!) upper[i] = lower[i]!;
    else lower[i] = upper[i]!;
  }
  return { ...rows, lower, upper };
}

/** Solution over some securities, extended to all securities. */
export interface WholeSolution {
  readonly program: Program;
  readonly answer: ProgramResult;
  /** Fixed securities whose release would improve the objective; empty if the solution is optimal. */
  readonly pulled: Int32Array;
}

/**
 * Extends a solution with fixed securities to the program with all bounds. Returns undefined if it violates the
 * optimality conditions other than by the fixed securities.
 * @param solution solution, and its program with fixed securities
 * @param bounds program with all bounds
 */
export function expandSolution(
  { program, answer }: Pick<WholeSolution, 'program' | 'answer'>,
  { lower, upper }: Program,
): WholeSolution | undefined {
  const wholeProgram = { ...program, lower, upper };
  const { point, state } = answer;
  const kkt = checkKkt(wholeProgram, point);
  const pulledVariables = isOptimal(kkt) ? new Int32Array(0) : listPulledVariables(wholeProgram, point);
  if (!isOptimal(kkt) && pulledVariables.length === 0) return undefined;
  const names = state.names.map((held, i) =>
    program.lower[i] === program.upper[i] && lower[i]! < upper[i]! ? (point.x[i] === upper[i] ? UPPER : LOWER) : held,
  );
  return { program: wholeProgram, answer: { ...answer, state: { ...state, names }, kkt }, pulled: pulledVariables };
}
