import {
  EQUAL,
  FREE,
  IDLE,
  LOWER,
  OVER,
  PINNED,
  UNDER,
  UPPER,
  findStateValue,
  settleSides,
  type ActiveState,
  type Iterate,
} from '../active-set/active-state.js';
import type { Work } from './work.js';

/** Writes the point in the units of the program, and the active set that the pairs indicate. */
export function readSolution(work: Work, state: ActiveState, iterate: Iterate): void {
  const { program, free, f, pairs, at, x, y, scale, rowScale, normRadius } = work;
  const { n, rows, kinks, norms } = program;
  const { on, s, z } = pairs;
  const isActivePair = (k: number) => on[k] === 1 && z[k]! > s[k]!;
  for (let i = 0; i < n; i++) {
    iterate.x[i] = x[i]!;
    state.names[i] = LOWER;
  }
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    state.names[i] = isActivePair(at.lower + p) ? LOWER : isActivePair(at.upper + p) ? UPPER : FREE;
    if (state.names[i] === FREE) {
      for (let k = 0; k < kinks.length; k++)
        if (isActivePair(at.left + k * f + p) && isActivePair(at.right + k * f + p)) state.names[i] = PINNED + k;
    }
    settleSides(program, state, i, findStateValue(program, state.names[i]!, i, x[i]!));
  }
  for (let r = 0; r < rows.count; r++) {
    iterate.rowMultipliers[r] = (y[r]! * rowScale[r]!) / scale;
    const [u, l] = [at.rowUpper + r, at.rowLower + r];
    const isOver = on[at.rowOver + r] === 1 && s[at.rowOver + r]! > z[at.rowOver + r]!;
    const isUnder = on[at.rowUnder + r] === 1 && s[at.rowUnder + r]! > z[at.rowUnder + r]!;
    if (isOver || isUnder) state.rows[r] = isOver ? OVER : UNDER;
    else if (rows.lower[r] === rows.upper[r]) state.rows[r] = EQUAL;
    else state.rows[r] = isActivePair(u) ? UPPER : isActivePair(l) ? LOWER : IDLE;
  }
  for (let k = 0; k < kinks.length; k++) {
    if (kinks[k]!.limit === null) {
      iterate.kinkMultipliers[k] = 1;
      state.kinks[k] = OVER;
      continue;
    }
    iterate.kinkMultipliers[k] = z[at.limit + k]! / scale;
    const isOver = on[at.limitOver + k] === 1 && s[at.limitOver + k]! > z[at.limitOver + k]!;
    state.kinks[k] = isOver ? OVER : isActivePair(at.limit + k) ? UPPER : IDLE;
  }
  for (let q = 0; q < norms.length; q++) {
    iterate.normMultipliers[q] = z[at.norm + q]! / normRadius[q]! / scale;
    state.norms[q] = isActivePair(at.norm + q) ? UPPER : IDLE;
  }
}
