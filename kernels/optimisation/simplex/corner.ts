import {
  EQUAL,
  FREE,
  IDLE,
  LOWER,
  OVER,
  PINNED,
  UPPER,
  createColdState,
  createIterate,
  findStateValue,
  settleSides,
  type ActiveState,
  type Iterate,
} from '../active-set/active-state.js';
import type { Program } from '../program/program.js';
import { solveByDualSimplex, type Corner } from './dual-simplex.js';
import { createSegments, type Segments } from './segments.js';

/** Corner of a program with its active set. */
export interface SolvedCorner {
  readonly state: ActiveState;
  readonly iterate: Iterate;
  readonly pivots: number;
}

/**
 * Finds the optimal corner of a program without curvature.
 *
 * @returns  Undefined if the program has curvature or penalties, is unbounded or too large, or if no corner is found.
 * @cost     one to three pivots per active row, of m n each
 */
export function solveCorner(program: Program): SolvedCorner | undefined {
  const segments = createSegments(program);
  if (segments === undefined) return undefined;
  const corner = solveByDualSimplex(segments);
  if (corner === undefined) return undefined;
  const [state, iterate] = [createColdState(program), createIterate(program)];
  iterate.x.set(program.lower);
  const isBetween = new Uint8Array(program.n);
  for (let j = 0; j < segments.n; j++) {
    iterate.x[segments.nameOf[j]!]! += corner.z[j]!;
    if (corner.isBasic[j] === 1) isBetween[segments.nameOf[j]!] = 1;
  }
  for (let i = 0; i < program.n; i++) settleVariable(program, { state, iterate }, i, isBetween[i] === 1);
  settleRows(program, segments, corner, { state, iterate });
  return { state, iterate, pivots: corner.pivots };
}

/**
 * Distance within which a weight counts as at a bound or kink, relative to 1 + |bound|. Rounding errors of sums of
 * segment lengths stay below it.
 */
const CONTACT_TOLERANCE = 1e-14;

function settleVariable(
  program: Program,
  { state, iterate }: Pick<SolvedCorner, 'state' | 'iterate'>,
  i: number,
  isBetween: boolean,
): void {
  const { lower, upper, kinks } = program;
  const isAtBound = (bound: number): boolean =>
    Math.abs(iterate.x[i]! - bound) <= CONTACT_TOLERANCE * (1 + Math.abs(bound));
  const pinnedKink = kinks.findIndex(({ at, left, right }) => left[i] !== right[i] && isAtBound(at[i]!));
  state.names[i] = FREE;
  if (!isBetween) {
    if (isAtBound(lower[i]!)) state.names[i] = LOWER;
    else if (isAtBound(upper[i]!)) state.names[i] = UPPER;
    else if (pinnedKink >= 0) state.names[i] = PINNED + pinnedKink;
  }
  iterate.x[i] = findStateValue(program, state.names[i]!, i, iterate.x[i]!);
  settleSides(program, state, i, iterate.x[i]!);
}

function settleRows(
  { rows, kinks }: Program,
  { limited }: Segments,
  { activeSides, multipliers }: Corner,
  { state, iterate }: Pick<SolvedCorner, 'state' | 'iterate'>,
): void {
  for (let r = 0; r < rows.count; r++) {
    iterate.rowMultipliers[r] = multipliers[r]!;
    if (rows.lower[r] === rows.upper[r]) state.rows[r] = EQUAL;
    else state.rows[r] = activeSides[r] === 0 ? IDLE : activeSides[r] === 1 ? UPPER : LOWER;
  }
  for (const [k, { limit }] of kinks.entries())
    if (limit === null) [state.kinks[k], iterate.kinkMultipliers[k]] = [OVER, 1];
  for (const [position, k] of limited.entries()) {
    state.kinks[k] = activeSides[rows.count + position] === 0 ? IDLE : UPPER;
    iterate.kinkMultipliers[k] = multipliers[rows.count + position]!;
  }
}
