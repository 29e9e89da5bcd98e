import type { Curvature } from '../factors/curvature.js';
import { factorSemidefinite, solveFactored } from '../factors/schur.js';
import { multiplyMetric } from '../program/metric.js';
import { addRows, computeRowValues, createLagrangianCurvature, isUnbounded } from '../program/program.js';
import type { FoldedRows, Work } from './work.js';

/** Proximal term of equality rows without a penalty in the scaled program. It vanishes at the solution. */
const PROXIMAL_ROW = 1e-10;

/**
 * Returns the diagonal entry of a row in the Schur complement. For an equality without a penalty, it is only the
 * proximal term.
 */
function computeRowSlack({ program, pairs: { on, s, z }, at }: Work, r: number): number {
  const [u, l] = [at.rowUpper + r, at.rowLower + r];
  if (on[u] === 0 && on[l] === 0) return isUnbounded(program.rows, r) ? 1 : PROXIMAL_ROW;
  let inverse = 0;
  if (on[u] === 1) inverse += 1 / computeSideSlack(on, s, z, u, at.rowOver + r);
  if (on[l] === 1) inverse += 1 / computeSideSlack(on, s, z, l, at.rowUnder + r);
  return 1 / inverse;
}

function computeSideSlack(on: Uint8Array, s: Float64Array, z: Float64Array, side: number, soft: number): number {
  return s[side]! / z[side]! + (on[soft] === 1 ? s[soft]! / z[soft]! : 0);
}

/** Returns the right-hand side of a row with scaled value `value`. */
function computeRowRightSide(work: Work, r: number, value: number): number {
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
function computeUpperConstant(
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

function computeLowerConstant(
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

function computeKinkRightSide({ program, f, pairs: { on, s, z, target }, at, rowResidual }: Work, k: number): number {
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

/**
 * Sets the weights of the folded rows in an iteration. Returns the weighted rows, whose outer products are added to the
 * curvature.
 */
function setFoldedWeights(work: Work, { rows, values, weighted, weights }: FoldedRows): Float64Array {
  const { f } = work;
  for (let k = 0; k < rows.length; k++) {
    weights[k] = 1 / computeRowSlack(work, rows[k]!);
    const root = Math.sqrt(weights[k]!);
    for (let e = k * f; e < k * f + f; e++) weighted[e] = root * values[e]!;
  }
  return weighted;
}

/** Adds the contribution of the folded rows to the right-hand sides of the securities. */
function addFoldedRightSide(work: Work, { rows, values, weights, pushes }: FoldedRows, right: Float64Array): void {
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
function addFolded({ rows, values, weights, pushes }: FoldedRows, { x, times }: ScaledVector, out: Float64Array): void {
  for (let from = 0; from < rows.length; from += BLOCK) {
    const block = { matrix: values, width: x.length, from, to: Math.min(from + BLOCK, rows.length) };
    computeRowValues(block, x, pushes);
    for (let k = from; k < block.to; k++) pushes[k]! *= times * weights[k]!;
    addRows(block, pushes, out);
  }
}

/** Computes the steps of slacks and multipliers of the folded rows from dx. */
function computeFoldedSteps(
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

/** Computes the steps of all pairs from dx and the changes of the multipliers. */
function computePairSteps(work: Work): void {
  const {
    program,
    free,
    f,
    pairs,
    at,
    dx,
    change,
    columnRows,
    columnCount: c,
    rowResidual,
    rowScale,
    fold,
    kept,
  } = work;
  const { kinks, norms } = program;
  const { on, s, z, ds, dz, target } = pairs;
  const m = kept.length;
  const computeDualStep = (k: number) => {
    dz[k] = (target[k]! - z[k]! * ds[k]!) / s[k]!;
  };
  for (let p = 0; p < f; p++) {
    if (on[at.lower + p] === 1) {
      ds[at.lower + p] = dx[p]! + work.lowerResidual[p]!;
      computeDualStep(at.lower + p);
    }
    if (on[at.upper + p] === 1) {
      ds[at.upper + p] = -dx[p]! + work.upperResidual[p]!;
      computeDualStep(at.upper + p);
    }
  }
  if (fold !== null) computeFoldedSteps(work, fold, setSideStep);
  const moves = new Float64Array(c);
  columnRows.addColumns(dx, moves);
  for (let column = 0; column < m; column++) {
    const r = kept[column]!;
    const [u, l] = [at.rowUpper + r, at.rowLower + r];
    if (on[u] === 0 && on[l] === 0) continue;
    const move = moves[column]!;
    const value = rowResidual[r]! * rowScale[r]!;
    // The step of the wider side follows from dx. The step of the narrower side follows from the multiplier of the row,
    // because a slack near zero would magnify rounding errors.
    const upperSlack = on[u] === 1 ? computeSideSlack(on, s, z, u, at.rowOver + r) : 0;
    const lowerSlack = on[l] === 1 ? computeSideSlack(on, s, z, l, at.rowUnder + r) : 0;
    let upperTerm = 0;
    let lowerTerm = 0;
    if (lowerSlack > upperSlack) {
      lowerTerm = on[u] === 1 ? (-move - computeLowerConstant(work, r, value)) / lowerSlack : -change[column]!;
      upperTerm = change[column]! + lowerTerm;
    } else {
      upperTerm = on[l] === 1 ? (move - computeUpperConstant(work, r, value)) / upperSlack : change[column]!;
      lowerTerm = upperTerm - change[column]!;
    }
    if (on[u] === 1) setSideStep(u, at.rowOver + r, upperTerm);
    if (on[l] === 1) setSideStep(l, at.rowUnder + r, lowerTerm);
  }
  for (let k = 0; k < kinks.length; k++) {
    const { left, right, limit } = kinks[k]!;
    const dl = limit === null ? 0 : change[m + k]!;
    for (let p = 0; p < f; p++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const r = at.right + k * f + p;
      const i = free[p]!;
      const a = z[l]! / s[l]!;
      const b = z[r]! / s[r]!;
      const dt = (target[l]! / s[l]! + target[r]! / s[r]! + (left[i]! * a + right[i]! * b) * dx[p]! - dl) / (a + b);
      ds[l] = dt - left[i]! * dx[p]!;
      ds[r] = dt - right[i]! * dx[p]!;
      computeDualStep(l);
      computeDualStep(r);
    }
    if (limit !== null) setSideStep(at.limit + k, at.limitOver + k, dl);
  }
  for (let q = 0; q < norms.length; q++) {
    const side = at.norm + q;
    dz[side] = change[m + kinks.length + q]!;
    ds[side] = (target[side]! - s[side]! * dz[side]!) / z[side]!;
  }

  /** Sets the steps of a side and of the excess that softens it. Their duals change in opposite directions. */
  function setSideStep(side: number, soft: number, step: number): void {
    dz[side] = step;
    ds[side] = (target[side]! - s[side]! * step) / z[side]!;
    if (on[soft] === 0) return;
    dz[soft] = -step;
    ds[soft] = (target[soft]! + s[soft]! * step) / z[soft]!;
  }
}

export function advance(work: Work, length: number): void {
  const { program, free, f, pairs, at, x, y, t, dx, change, columnOf, lowerResidual, upperResidual } = work;
  const { on, s, z, ds, dz } = pairs;
  const { rows, kinks, lower, upper } = program;
  for (let k = 0; k < pairs.count; k++) {
    if (on[k] === 0) continue;
    s[k]! += length * ds[k]!;
    z[k]! += length * dz[k]!;
  }
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    x[i]! += length * dx[p]!;
    lowerResidual[p]! *= 1 - length;
    upperResidual[p]! *= 1 - length;
    if (on[at.lower + p] === 1 && lowerResidual[p] === 0) s[at.lower + p] = Math.max(x[i]! - lower[i]!, 1e-300);
    if (on[at.upper + p] === 1 && upperResidual[p] === 0) s[at.upper + p] = Math.max(upper[i]! - x[i]!, 1e-300);
  }
  for (let r = 0; r < rows.count; r++) {
    const [u, l] = [at.rowUpper + r, at.rowLower + r];
    if (on[u] === 0 && on[l] === 0) y[r] = rows.lower[r] === rows.upper[r] ? y[r]! + length * change[columnOf[r]!]! : 0;
    else y[r] = (on[u] === 1 ? z[u]! : 0) - (on[l] === 1 ? z[l]! : 0);
  }
  for (let k = 0; k < kinks.length; k++) {
    const kink = kinks[k]!;
    for (let p = 0; p < f; p++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const i = free[p]!;
      const step = x[i]! - kink.at[i]!;
      t[k * f + p] = s[l]! + kink.left[i]! * step;
    }
  }
}

/** Maximum proximal term of the securities. If a larger one is needed, the factorisation has failed. */
const PROXIMAL_MAX = 1e-2;

/**
 * Minimum ratio of a pivot of the Schur complement to its diagonal entry. A smaller pivot is a rounding error. All
 * other pivots are kept, because of the proximal term.
 */
const ROUNDING = 1e-15;

/** Factors the system. Increases the proximal term as long as rounding errors make the curvature indefinite. */
export function factorRegularised(work: Work, curvature: Curvature): boolean {
  for (; work.proximal <= PROXIMAL_MAX; work.proximal *= 100) if (factor(work, curvature)) return true;
  return false;
}

/** Computes the curvature with barrier terms, the columns and the Schur complement of this iteration. */
function factor(work: Work, curvature: Curvature): boolean {
  const {
    program,
    free,
    f,
    pairs,
    at,
    scale,
    diagonal,
    columns,
    solved,
    schur,
    slack,
    rowScale,
    normGradient,
    normRadius,
    fold,
    kept,
    columnCount: c,
  } = work;
  const { n, rows, kinks, norms } = program;
  const { on, s, z } = pairs;
  const m = kept.length;
  for (let q = 0; q < norms.length; q++) work.normWeights[q] = z[at.norm + q]! / normRadius[q]!;
  const regularisedCurvature = { scale: scale * program.curvature, ridge: scale * program.ridge + work.proximal };
  const {
    metric,
    scale: metricScale,
    ridge,
  } = createLagrangianCurvature(program, regularisedCurvature, work.normWeights);
  work.metric = metric;
  work.metricScale = metricScale;
  for (let p = 0; p < f; p++) {
    let total = ridge;
    if (on[at.lower + p] === 1) total += z[at.lower + p]! / s[at.lower + p]!;
    if (on[at.upper + p] === 1) total += z[at.upper + p]! / s[at.upper + p]!;
    for (let k = 0; k < kinks.length; k++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const r = at.right + k * f + p;
      const a = z[l]! / s[l]!;
      const b = z[r]! / s[r]!;
      total += ((a * b) / (a + b)) * (kinks[k]!.right[free[p]!]! - kinks[k]!.left[free[p]!]!) ** 2;
    }
    diagonal[free[p]!] = total;
  }
  const foldedWeights = fold === null ? undefined : setFoldedWeights(work, fold);
  if (!curvature.factor(metric, metricScale, diagonal, free, f, foldedWeights)) return false;
  for (let column = 0; column < m; column++) {
    const r = kept[column]!;
    slack[column] = computeRowSlack(work, r);
    if (work.hasRowColumns) continue;
    const rowFactor = isUnbounded(rows, r) ? 0 : rowScale[r]!;
    for (let p = 0; p < f; p++) columns[p * c + column] = rows.coefficients[r * n + free[p]!]! * rowFactor;
  }
  for (let k = 0; k < kinks.length; k++) {
    const { left, right, limit } = kinks[k]!;
    let total = limit === null ? 1 : s[at.limit + k]! / z[at.limit + k]!;
    if (limit !== null && on[at.limitOver + k] === 1) total += s[at.limitOver + k]! / z[at.limitOver + k]!;
    for (let p = 0; p < f; p++) {
      const i = free[p]!;
      const l = at.left + k * f + p;
      if (on[l] === 0 || limit === null) {
        columns[p * c + m + k] = 0;
        continue;
      }
      const a = z[l]! / s[l]!;
      const b = z[at.right + k * f + p]! / s[at.right + k * f + p]!;
      columns[p * c + m + k] = (left[i]! * a + right[i]! * b) / (a + b);
      total += 1 / (a + b);
    }
    slack[m + k] = total;
  }
  for (let q = 0; q < norms.length; q++) {
    const column = m + kinks.length + q;
    for (let p = 0; p < f; p++) columns[p * c + column] = normGradient[q * f + p]!;
    slack[column] = s[at.norm + q]! / z[at.norm + q]!;
  }
  if (!work.hasRowColumns || m < c) work.columnRows.read(columns, f, c);
  work.hasRowColumns = true;
  if (c === 0) return true;
  curvature.solveWithProducts(columns, c, solved, schur);
  work.solvedRows.read(solved, f, c);
  for (let r = 0; r < c; r++) schur[r * c + r]! += slack[r]!;
  factorSemidefinite(schur, c, work.skipped, { repeated: ROUNDING, algebra: curvature.algebra });
  return true;
}

/** Computes the step for the targets of the pairs: dx, the changes of the multipliers and the steps of all pairs. */
export function solveDirection(work: Work, curvature: Curvature): void {
  const {
    program,
    free,
    f,
    pairs,
    at,
    gradient,
    right,
    columnRight,
    change,
    dx,
    rowResidual,
    columnCount: c,
    rowScale,
    fold,
    kept,
    lowerResidual,
    upperResidual,
  } = work;
  const { rows, kinks } = program;
  const { on, s, z, target } = pairs;
  const m = kept.length;
  for (let p = 0; p < f; p++) {
    let total = -gradient[free[p]!]!;
    if (on[at.lower + p] === 1)
      total += (target[at.lower + p]! - z[at.lower + p]! * lowerResidual[p]!) / s[at.lower + p]!;
    if (on[at.upper + p] === 1)
      total -= (target[at.upper + p]! - z[at.upper + p]! * upperResidual[p]!) / s[at.upper + p]!;
    for (let k = 0; k < kinks.length; k++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const r = at.right + k * f + p;
      const i = free[p]!;
      const cl = target[l]! / s[l]!;
      const cr = target[r]! / s[r]!;
      const a = z[l]! / s[l]!;
      const b = z[r]! / s[r]!;
      const slope = (kinks[k]!.left[i]! * a + kinks[k]!.right[i]! * b) / (a + b);
      total -= kinks[k]!.left[i]! * cl + kinks[k]!.right[i]! * cr - slope * (cl + cr);
    }
    right[p] = total;
  }
  if (fold !== null) addFoldedRightSide(work, fold, right);
  for (let r = 0; r < c; r++) columnRight[r] = computeRightSide(r);
  dx.fill(0);
  change.fill(0);
  addCorrection(work, curvature, right, columnRight);
  for (let refinement = 0; refinement < work.refinements; refinement++) {
    computeSystemResidual(work);
    addCorrection(work, curvature, work.nameError, work.rowError);
  }
  computePairSteps(work);

  function computeRightSide(r: number): number {
    if (r < m) return computeRowRightSide(work, kept[r]!, rowResidual[kept[r]!]! * rowScale[kept[r]!]!);
    if (r < m + kinks.length) return computeKinkRightSide(work, r - m);
    const norm = r - m - kinks.length;
    const side = at.norm + norm;
    return rowResidual[rows.count + kinks.length + norm]! - target[side]! / z[side]!;
  }
}

/** Adds the solution of the Newton system with the given right-hand sides to dx and change. */
function addCorrection(work: Work, curvature: Curvature, names: Float64Array, columnsRight: Float64Array): void {
  const { f, columnRows, solvedRows, schur, skipped, dx, change, trial, trialChange, columnCount: c } = work;
  for (let p = 0; p < f; p++) trial[p] = names[p]!;
  curvature.solve(trial, 1);
  for (let r = 0; r < c; r++) trialChange[r] = -columnsRight[r]!;
  columnRows.addColumns(trial, trialChange);
  solveFactored(schur, c, trialChange, skipped);
  for (let p = 0; p < f; p++) dx[p]! += c === 0 ? trial[p]! : solvedRows.less(p, trial[p]!, trialChange);
  for (let r = 0; r < c; r++) change[r]! += trialChange[r]!;
}

/** Computes the residual of the Newton system at dx and change. */
function computeSystemResidual(work: Work): void {
  const {
    free,
    f,
    columnRows,
    slack,
    right,
    columnRight,
    dx,
    change,
    diagonal,
    offset,
    product,
    metric,
    metricScale,
    nameError,
    rowError,
    columnCount: c,
  } = work;
  if (metric !== null && metricScale !== 0) {
    offset.fill(0);
    for (let p = 0; p < f; p++) offset[free[p]!] = dx[p]!;
    multiplyMetric(metric, offset, product);
  }
  for (let r = 0; r < c; r++) rowError[r] = columnRight[r]! + slack[r]! * change[r]!;
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    let total = right[p]! - diagonal[i]! * dx[p]!;
    if (metric !== null && metricScale !== 0) total -= metricScale * product[i]!;
    nameError[p] = columnRows.less(p, total, change);
  }
  columnRows.addColumns(dx, rowError, -1);
  if (work.fold !== null) addFolded(work.fold, { x: dx, times: -1 }, nameError);
}
