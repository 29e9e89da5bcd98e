import type { Curvature } from '../factors/curvature.js';
import { computeObjectiveSlope, computeResiduals } from './residuals.js';
import type { Work } from './work.js';
import { solveDirection, factorRegularised } from './newton-system.js';
import type { Pairs } from './pairs.js';
import { isUnbounded } from '../program/program.js';

/** Sets a starting point well inside every bound, with slacks and duals of equal size. */
export function setStart(work: Work): void {
  const { program, free, f, pairs, at, x, y, t, rowScale, scale } = work;
  const { n, lower, upper, rows, kinks, norms, centre } = program;
  for (let i = 0; i < n; i++) x[i] = lower[i]! > -Infinity ? lower[i]! : upper[i]! < Infinity ? upper[i]! : centre[i]!;
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    x[i] = clampInside(centre[i]!, lower[i]!, upper[i]!);
    if (lower[i]! > -Infinity) put(pairs, at.lower + p, x[i]! - lower[i]!, 1);
    if (upper[i]! < Infinity) put(pairs, at.upper + p, upper[i]! - x[i]!, 1);
  }
  const typicalSlack = computeTypicalSlack(pairs);
  for (let r = 0; r < rows.count; r++) {
    y[r] = 0;
    const isHard = !Number.isFinite(rows.penalty[r]!);
    if (isHard && rows.lower[r] === rows.upper[r]) continue;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    const price = isHard ? Infinity : (rows.penalty[r]! * scale) / rowScale[r]!;
    for (const [side, soft, room] of [
      [at.rowUpper + r, at.rowOver + r, (rows.upper[r]! - value) * rowScale[r]!],
      [at.rowLower + r, at.rowUnder + r, (value - rows.lower[r]!) * rowScale[r]!],
    ] as const) {
      if (room === Infinity) continue;
      const z = Math.min(1, price / 2);
      const slack = Math.max(room, typicalSlack);
      put(pairs, side, slack, z);
      if (!isHard) put(pairs, soft, Math.max(slack - room, typicalSlack), price - z);
    }
  }
  for (let k = 0; k < kinks.length; k++) {
    const kink = kinks[k]!;
    const price = kink.limit === null ? scale : 1;
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const step = x[i]! - kink.at[i]!;
      sum += (step > 0 ? kink.right[i]! : kink.left[i]!) * step;
    }
    for (let p = 0; p < f; p++) {
      const i = free[p]!;
      if (kink.left[i] === kink.right[i]) continue;
      const step = x[i]! - kink.at[i]!;
      const shift = Math.max(kink.left[i]! * step, kink.right[i]! * step);
      t[k * f + p] = shift + typicalSlack * Math.max(Math.abs(kink.left[i]!), Math.abs(kink.right[i]!));
      put(pairs, at.left + k * f + p, t[k * f + p]! - kink.left[i]! * step, price / 2);
      put(pairs, at.right + k * f + p, t[k * f + p]! - kink.right[i]! * step, price / 2);
    }
    if (kink.limit === null) continue;
    const isHard = !Number.isFinite(kink.penalty);
    const ceiling = isHard ? Infinity : kink.penalty * scale;
    const multiplier = Math.min(1, ceiling / 2);
    for (let p = 0; p < f; p++) {
      pairs.z[at.left + k * f + p] = multiplier / 2;
      pairs.z[at.right + k * f + p] = multiplier / 2;
    }
    const slack = Math.max(kink.limit - sum, typicalSlack);
    put(pairs, at.limit + k, slack, multiplier);
    if (!isHard) put(pairs, at.limitOver + k, Math.max(slack - (kink.limit - sum), typicalSlack), ceiling - multiplier);
  }
  for (let q = 0; q < norms.length; q++) put(pairs, at.norm + q, Math.max(norms[q]!.radius, typicalSlack), 1);
  scaleAllDuals(work);
}

/**
 * Sets Mehrotra's starting point for programs whose solution is far from the centre. At this point, the rows nearly
 * hold, and every slack is shifted until it is positive. Bounds then have residuals like rows.
 */
export function setFarStart(work: Work, curvature: Curvature): void {
  const { program, free, f, pairs, at, x, y, dx, change, columnOf, rowScale, lowerResidual, upperResidual } = work;
  const { n, lower, upper, rows } = program;
  computeResiduals(work);
  pairs.target.fill(0);
  if (!factorRegularised(work, curvature)) return;
  solveDirection(work, curvature);
  for (let p = 0; p < f; p++) x[free[p]!]! += dx[p]!;
  for (let r = 0; r < rows.count; r++)
    if (pairs.on[at.rowUpper + r] === 0 && pairs.on[at.rowLower + r] === 0)
      y[r]! += isUnbounded(rows, r) ? 0 : change[columnOf[r]!]!;
  const slacks = new Float64Array(pairs.count);
  for (let p = 0; p < f; p++) {
    slacks[at.lower + p] = x[free[p]!]! - lower[free[p]!]!;
    slacks[at.upper + p] = upper[free[p]!]! - x[free[p]!]!;
  }
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    slacks[at.rowUpper + r] = (rows.upper[r]! - value) * rowScale[r]!;
    slacks[at.rowLower + r] = (value - rows.lower[r]!) * rowScale[r]!;
  }
  let shift = 0;
  let total = 0;
  let number = 0;
  for (let k = 0; k < at.rowOver; k++) if (pairs.on[k] === 1) shift = Math.max(shift, -1.5 * slacks[k]!);
  for (let k = 0; k < at.rowOver; k++) {
    if (pairs.on[k] === 0) continue;
    total += Math.min(slacks[k]! + shift, 1e6);
    number++;
  }
  shift += number === 0 ? 0 : Math.max((0.5 * total) / number, 1e-3);
  for (let k = 0; k < at.rowOver; k++) if (pairs.on[k] === 1) pairs.s[k] = slacks[k]! + shift;
  for (let p = 0; p < f; p++) {
    lowerResidual[p] = pairs.on[at.lower + p] === 1 ? slacks[at.lower + p]! - pairs.s[at.lower + p]! : 0;
    upperResidual[p] = pairs.on[at.upper + p] === 1 ? slacks[at.upper + p]! - pairs.s[at.upper + p]! : 0;
  }
  scaleAllDuals(work);
}

/**
 * Returns the point nearest to `wanted` that is inside the bounds by a tenth of their distance, or by 1 if only one is
 * finite.
 */
export function clampInside(wanted: number, lower: number, upper: number): number {
  const width = upper - lower;
  if (width < Infinity) return Math.min(Math.max(wanted, lower + 0.1 * width), upper - 0.1 * width);
  if (lower > -Infinity) return Math.max(wanted, lower + 1);
  if (upper < Infinity) return Math.min(wanted, upper - 1);
  return wanted;
}

function put({ on, s, z }: Pairs, position: number, slack: number, dual: number): void {
  on[position] = 1;
  s[position] = slack;
  z[position] = dual;
}

function computeTypicalSlack({ count, on, s }: Pairs): number {
  let total = 0;
  let number = 0;
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    total += Math.min(s[k]!, 1);
    number++;
  }
  return number === 0 ? 1 : Math.max(total / number, 1e-4);
}

/**
 * Scales the duals of bounds, rows, limits and norms to the gradient. The initial complementarity then has the scale of
 * the problem.
 */
function scaleAllDuals(work: Work): void {
  const { pairs, at, free, f } = work;
  computeResiduals(work);
  let size = 0;
  for (let p = 0; p < f; p++) size += Math.abs(computeObjectiveSlope(work, free[p]!));
  const startDual = Math.min(Math.max(size / Math.max(f, 1), 1e-4), 1e4);
  const scaleDuals = (from: number, to: number) => {
    for (let k = from; k < to; k++) if (pairs.on[k] === 1) pairs.z[k] = startDual;
  };
  scaleDuals(at.lower, at.rowUpper);
  for (let r = 0; r < work.program.rows.count; r++) {
    for (const [side, soft] of [
      [at.rowUpper + r, at.rowOver + r],
      [at.rowLower + r, at.rowUnder + r],
    ] as const) {
      if (pairs.on[side] === 0) continue;
      if (pairs.on[soft] === 1) {
        const price = pairs.z[side]! + pairs.z[soft]!;
        pairs.z[side] = Math.min(startDual, price / 2);
        pairs.z[soft] = price - pairs.z[side]!;
      } else pairs.z[side] = startDual;
    }
  }
  for (let k = 0; k < work.program.kinks.length; k++) {
    if (pairs.on[at.limit + k] === 0) continue;
    const ceiling = pairs.on[at.limitOver + k] === 1 ? pairs.z[at.limit + k]! + pairs.z[at.limitOver + k]! : Infinity;
    const multiplier = Math.min(startDual, ceiling / 2);
    pairs.z[at.limit + k] = multiplier;
    if (ceiling < Infinity) pairs.z[at.limitOver + k] = ceiling - multiplier;
    for (let p = 0; p < f; p++) {
      pairs.z[at.left + k * f + p] = multiplier / 2;
      pairs.z[at.right + k * f + p] = multiplier / 2;
    }
  }
  scaleDuals(at.norm, pairs.count);
}
