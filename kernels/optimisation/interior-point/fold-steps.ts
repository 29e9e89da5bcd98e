import { addRows, computeRowValues } from '../program/row-passes.js';
import type { FoldedRows } from './folded-rows.js';
import {
  computeLowerConstant,
  computeRowRightSide,
  computeRowSlack,
  computeSideSlack,
  computeUpperConstant,
} from './row-sides.js';
import type { Work } from './work.js';

/**
 * Sets the weights of the folded rows in an iteration. Returns the weighted rows, whose outer products are added to the
 * curvature.
 */
export function setFoldedWeights(work: Work, { rows, values, weighted, weights }: FoldedRows): Float64Array {
  const { f } = work;
  for (let k = 0; k < rows.length; k++) {
    weights[k] = 1 / computeRowSlack(work, rows[k]!);
    const root = Math.sqrt(weights[k]!);
    for (let e = k * f; e < k * f + f; e++) weighted[e] = root * values[e]!;
  }
  return weighted;
}

/** Adds the contribution of the folded rows to the right-hand sides of the securities. */
export function addFoldedRightSide(
  work: Work,
  { rows, values, weights, pushes }: FoldedRows,
  right: Float64Array,
): void {
  const { f, rowResidual, rowScale } = work;
  for (let k = 0; k < rows.length; k++) {
    const r = rows[k]!;
    pushes[k] = weights[k]! * computeRowRightSide(work, r, rowResidual[r]! * rowScale[r]!);
  }
  addRows({ matrix: values, width: f, from: 0, to: rows.length }, pushes, right);
}

interface ScaledVector {
  /** [f] */
  readonly x: Float64Array;
  readonly times: number;
}

/** Number of rows in a block. The block is so small that its values are still in the cache when they are added. */
const BLOCK = 32;

/** Adds the product of the folded rows' curvature with x, times a factor, to `out`. */
export function addFolded(
  { rows, values, weights, pushes }: FoldedRows,
  { x, times }: ScaledVector,
  out: Float64Array,
): void {
  for (let from = 0; from < rows.length; from += BLOCK) {
    const block = { matrix: values, width: x.length, from, to: Math.min(from + BLOCK, rows.length) };
    computeRowValues(block, x, pushes);
    for (let k = from; k < block.to; k++) pushes[k]! *= times * weights[k]!;
    addRows(block, pushes, out);
  }
}

/** Computes the steps of slacks and multipliers of the folded rows from dx. */
export function computeFoldedSteps(
  work: Work,
  { rows, values, pushes }: FoldedRows,
  step: (side: number, soft: number, change: number) => void,
): void {
  const { f, dx, at, pairs, rowResidual, rowScale } = work;
  const { on, s, z } = pairs;
  computeRowValues({ matrix: values, width: f, from: 0, to: rows.length }, dx, pushes);
  for (let k = 0; k < rows.length; k++) {
    const r = rows[k]!;
    const push = pushes[k]!;
    const value = rowResidual[r]! * rowScale[r]!;
    const [u, over] = [at.rowUpper + r, at.rowOver + r];
    const [l, under] = [at.rowLower + r, at.rowUnder + r];
    if (on[u] === 1) step(u, over, (push - computeUpperConstant(work, r, value)) / computeSideSlack(on, s, z, u, over));
    else step(l, under, (-push - computeLowerConstant(work, r, value)) / computeSideSlack(on, s, z, l, under));
  }
}
