import type { FoldedRows } from './folded-rows.js';
import { lowerConstant, rowRight, rowSlack, sideSlack, upperConstant } from './row-sides.js';
import type { Work } from './work.js';

/** Sets the weights of an iteration; returns the weighted rows, whose squares add to the curvature. */
export function foldWeights(work: Work, { rows, values, weighted, weights }: FoldedRows): Float64Array {
  const { f } = work;
  for (let k = 0; k < rows.length; k++) {
    weights[k] = 1 / rowSlack(work, rows[k]!);
    const root = Math.sqrt(weights[k]!);
    for (let e = k * f; e < k * f + f; e++) weighted[e] = root * values[e]!;
  }
  return weighted;
}

/** Adds what the right sides of the rows ask of the names. */
export function foldRight(work: Work, { rows, values, weights }: FoldedRows, right: Float64Array): void {
  const { f, rowResidual, rowScale } = work;
  for (let k = 0; k < rows.length; k++) {
    const r = rows[k]!;
    const push = weights[k]! * rowRight(work, r, rowResidual[r]! * rowScale[r]!);
    for (let p = 0, e = k * f; p < f; p++, e++) right[p]! += push * values[e]!;
  }
}

interface Multiple {
  /** [f] */
  readonly x: Float64Array;
  readonly times: number;
}

/** out += times the curvature of the rows at x. */
export function addFolded({ rows, values, weights }: FoldedRows, { x, times }: Multiple, out: Float64Array): void {
  const f = x.length;
  for (let k = 0; k < rows.length; k++) {
    const push = times * weights[k]! * valueAt(values, k * f, x);
    for (let p = 0, e = k * f; p < f; p++, e++) out[p]! += push * values[e]!;
  }
}

/** Steps of slacks and multipliers of the rows from dx. */
export function foldSteps(
  work: Work,
  { rows, values }: FoldedRows,
  step: (side: number, soft: number, change: number) => void,
): void {
  const { f, dx, at, pairs, rowResidual, rowScale } = work;
  const { on, s, z } = pairs;
  for (let k = 0; k < rows.length; k++) {
    const r = rows[k]!;
    const moved = valueAt(values, k * f, dx);
    const value = rowResidual[r]! * rowScale[r]!;
    const [u, over] = [at.rowUpper + r, at.rowOver + r];
    const [l, under] = [at.rowLower + r, at.rowUnder + r];
    if (on[u] === 1) step(u, over, (moved - upperConstant(work, r, value)) / sideSlack(on, s, z, u, over));
    else step(l, under, (-moved - lowerConstant(work, r, value)) / sideSlack(on, s, z, l, under));
  }
}

function valueAt(values: Float64Array, from: number, x: Float64Array): number {
  // Four sums at a time: each waits for its own last term only.
  const n = x.length;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let p = 0;
  for (; p + 3 < n; p += 4) {
    a += values[from + p]! * x[p]!;
    b += values[from + p + 1]! * x[p + 1]!;
    c += values[from + p + 2]! * x[p + 2]!;
    d += values[from + p + 3]! * x[p + 3]!;
  }
  for (; p < n; p++) a += values[from + p]! * x[p]!;
  return a + b + (c + d);
}
