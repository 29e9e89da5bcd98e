import type { Program } from './program.js';

/** States of a security; PINNED + k means that it is at kink k. */
export const FREE = 0;
export const LOWER = -1;
export const UPPER = 1;
export const PINNED = 2;

/** States of a row, kink limit or norm: inactive, at a bound, an equality, or violated at its price. */
export const IDLE = 0;
export const EQUAL = 2;
export const OVER = 3;
export const UNDER = -3;

/** Active set of a solution. Another solve can start from it. */
export interface ActiveState {
  /** [n] */
  readonly names: Int8Array;
  /** Side of each kink on which each security is, [kinks x n]: -1 left, 1 right. */
  readonly sides: Int8Array;
  /** [m] */
  readonly rows: Int8Array;
  /** States of the kink limits, [kinks]; a kink without a limit is always OVER. */
  readonly kinks: Int8Array;
  /** States of the norms, [norms]. */
  readonly norms: Int8Array;
}

/** Point that the solver updates; arrays as in `Point`. */
export interface Iterate {
  readonly x: Float64Array;
  readonly rowMultipliers: Float64Array;
  readonly kinkMultipliers: Float64Array;
  readonly normMultipliers: Float64Array;
}

/**
 * Returns the initial state without prior information: every security free, equalities active.
 *
 * @cost    n per kink.
 * @source  Kunisch & Rendl (2003), SIAM J. Optimization 14(1), 35-52.
 */
export function createColdState({ n, rows, kinks, norms, centre }: Program): ActiveState {
  const state: ActiveState = {
    names: new Int8Array(n),
    sides: new Int8Array(kinks.length * n),
    rows: new Int8Array(rows.count),
    kinks: new Int8Array(kinks.length),
    norms: new Int8Array(norms.length),
  };
  for (let r = 0; r < rows.count; r++) state.rows[r] = rows.lower[r] === rows.upper[r] ? EQUAL : IDLE;
  kinks.forEach(({ at, limit }, k) => {
    state.kinks[k] = limit === null ? OVER : IDLE;
    for (let i = 0; i < n; i++) state.sides[k * n + i] = centre[i]! < at[i]! ? -1 : 1;
  });
  return state;
}

/** Returns the value of a variable in its state; `free` for a free variable. */
export function findStateValue({ lower, upper, kinks }: Program, side: number, i: number, free: number): number {
  if (side === FREE) return free;
  return side === LOWER ? lower[i]! : side === UPPER ? upper[i]! : kinks[side - PINNED]!.at[i]!;
}

/** Sets the sides of the kinks for a security. At a kink, the side is the one towards which the security can move. */
export function settleSides({ n, kinks }: Program, { names, sides }: ActiveState, i: number, where: number): void {
  for (let k = 0; k < kinks.length; k++) {
    const kinkPoint = kinks[k]!.at[i]!;
    sides[k * n + i] = where < kinkPoint || (where === kinkPoint && names[i] === UPPER) ? -1 : 1;
  }
}

export function createIterate({ n, rows, kinks, norms }: Program): Iterate {
  return {
    x: new Float64Array(n),
    rowMultipliers: new Float64Array(rows.count),
    kinkMultipliers: new Float64Array(kinks.length),
    normMultipliers: new Float64Array(norms.length),
  };
}

export function copyIterate({ x, rowMultipliers, kinkMultipliers, normMultipliers }: Iterate): Iterate {
  return {
    x: x.slice(),
    rowMultipliers: rowMultipliers.slice(),
    kinkMultipliers: kinkMultipliers.slice(),
    normMultipliers: normMultipliers.slice(),
  };
}

export function copyState({ names, sides, rows, kinks, norms }: ActiveState): ActiveState {
  return { names: names.slice(), sides: sides.slice(), rows: rows.slice(), kinks: kinks.slice(), norms: norms.slice() };
}

/** Returns true if a state has the dimensions of this program; other states cannot be used with it. */
export function matchesProgram({ names, rows, kinks, norms }: ActiveState, program: Program): boolean {
  return (
    names.length === program.n &&
    rows.length === program.rows.count &&
    kinks.length === program.kinks.length &&
    norms.length === program.norms.length
  );
}
