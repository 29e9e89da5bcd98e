import { LOWER, UPPER } from '#kernels/optimisation/active-set/active-state.js';
import { checkKkt, isOptimal, pulledNames } from '#kernels/optimisation/program/kkt.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';

/** Names below which all of them take part at once. */
export const MANY = 100;

/** Share of them that may take part: beyond it leaving out the others saves little. */
const PART = 0.7;

/** Distance to a bound at which weights rest there. */
const AT_BOUND = 1e-9;

/**
 * Names that rest where weights have them, at a bound, while the others are chosen: 1 for each, null where too few do.
 */
export function restingAt({ n, lower, upper }: Program, weights: Float64Array): Uint8Array | null {
  if (n < MANY) return null;
  const resting = new Uint8Array(n);
  let moving = 0;
  for (let i = 0; i < n; i++) {
    const isAtBound = weights[i]! - lower[i]! <= AT_BOUND || upper[i]! - weights[i]! <= AT_BOUND;
    if (isAtBound) resting[i] = 1;
    else moving++;
  }
  return moving <= PART * n ? resting : null;
}

/** The programme in which resting names have the bound that weights have them at. */
export function withResting(rows: Program, resting: Uint8Array | null, weights: Float64Array): Program {
  if (resting === null) return rows;
  const [lower, upper] = [rows.lower.slice(), rows.upper.slice()];
  for (let i = 0; i < rows.n; i++) {
    if (resting[i] === 0) continue;
    if (weights[i]! - lower[i]! <= upper[i]! - weights[i]!) upper[i] = lower[i]!;
    else lower[i] = upper[i]!;
  }
  return { ...rows, lower, upper };
}

/** An answer among some names, as one of all of them. */
export interface AmongAll {
  readonly program: Program;
  readonly answer: ProgramAnswer;
  /** Names that rest and would better the objective: the answer is optimal where there are none. */
  readonly pulled: Int32Array;
}

/** @param program of the answer, in which names rest; @param rows with the bounds of all */
export function amongAll(
  { program, answer }: Pick<AmongAll, 'program' | 'answer'>,
  { lower, upper }: Program,
): AmongAll | undefined {
  const whole = { ...program, lower, upper };
  const { point, state } = answer;
  const kkt = checkKkt(whole, point);
  const pulled = isOptimal(kkt) ? new Int32Array(0) : pulledNames(whole, point);
  if (!isOptimal(kkt) && pulled.length === 0) return undefined;
  const names = state.names.map((held, i) =>
    program.lower[i] === program.upper[i] && lower[i]! < upper[i]! ? (point.x[i] === upper[i] ? UPPER : LOWER) : held,
  );
  return { program: whole, answer: { ...answer, state: { ...state, names }, kkt }, pulled };
}
