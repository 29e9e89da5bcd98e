import type { Work } from './work.js';
import { isUnbounded } from '../program/program.js';

/** Proximal term of equality rows without a penalty in the scaled program. It vanishes at the solution. */
const PROXIMAL_ROW = 1e-10;

/**
 * Returns the diagonal entry of a row in the Schur complement. For an equality without a penalty, it is only the
 * proximal term.
 */
export function computeRowSlack({ program, pairs: { on, s, z }, at }: Work, r: number): number {
  const [u, l] = [at.rowUpper + r, at.rowLower + r];
  if (on[u] === 0 && on[l] === 0) return isUnbounded(program.rows, r) ? 1 : PROXIMAL_ROW;
  let inverse = 0;
  if (on[u] === 1) inverse += 1 / computeSideSlack(on, s, z, u, at.rowOver + r);
  if (on[l] === 1) inverse += 1 / computeSideSlack(on, s, z, l, at.rowUnder + r);
  return 1 / inverse;
}

export function computeSideSlack(on: Uint8Array, s: Float64Array, z: Float64Array, side: number, soft: number): number {
  return s[side]! / z[side]! + (on[soft] === 1 ? s[soft]! / z[soft]! : 0);
}

/** Returns the right-hand side of a row with scaled value `value`. */
export function computeRowRightSide(work: Work, r: number, value: number): number {
  const {
    program,
    pairs: { on, s, z },
    at,
    rowScale,
  } = work;
  const [u, l] = [at.rowUpper + r, at.rowLower + r];
  if (on[u] === 0 && on[l] === 0)
    return program.rows.lower[r] === program.rows.upper[r] ? program.rows.upper[r]! * rowScale[r]! - value : 0;
  let inverse = 0;
  let total = 0;
  if (on[u] === 1) {
    const d = computeSideSlack(on, s, z, u, at.rowOver + r);
    inverse += 1 / d;
    total += computeUpperConstant(work, r, value) / d;
  }
  if (on[l] === 1) {
    const d = computeSideSlack(on, s, z, l, at.rowUnder + r);
    inverse += 1 / d;
    total -= computeLowerConstant(work, r, value) / d;
  }
  return total / inverse;
}

/** Returns a'dx - D dz of an upper side: its residual less the complementarity terms of slack and excess. */
export function computeUpperConstant(
  { program, pairs: { on, s, z, target }, at, rowScale }: Work,
  r: number,
  value: number,
): number {
  const u = at.rowUpper + r;
  const o = at.rowOver + r;
  const isSoft = on[o] === 1;
  const residual = program.rows.upper[r]! * rowScale[r]! - value - s[u]! + (isSoft ? s[o]! : 0);
  return residual - target[u]! / z[u]! + (isSoft ? target[o]! / z[o]! : 0);
}

export function computeLowerConstant(
  { program, pairs: { on, s, z, target }, at, rowScale }: Work,
  r: number,
  value: number,
): number {
  const l = at.rowLower + r;
  const o = at.rowUnder + r;
  const isSoft = on[o] === 1;
  const residual = value - program.rows.lower[r]! * rowScale[r]! - s[l]! + (isSoft ? s[o]! : 0);
  return residual - target[l]! / z[l]! + (isSoft ? target[o]! / z[o]! : 0);
}

export function computeKinkRightSide(
  { program, f, pairs: { on, s, z, target }, at, rowResidual }: Work,
  k: number,
): number {
  if (program.kinks[k]!.limit === null) return 0;
  let total = rowResidual[program.rows.count + k]! - target[at.limit + k]! / z[at.limit + k]!;
  if (on[at.limitOver + k] === 1) total += target[at.limitOver + k]! / z[at.limitOver + k]!;
  for (let p = 0; p < f; p++) {
    const l = at.left + k * f + p;
    if (on[l] === 0) continue;
    const r = at.right + k * f + p;
    total -= (target[l]! / s[l]! + target[r]! / s[r]!) / (z[l]! / s[l]! + z[r]! / s[r]!);
  }
  return total;
}
