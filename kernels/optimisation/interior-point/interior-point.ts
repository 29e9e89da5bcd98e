import { raiseToPower } from '../../power.js';
import type { Curvature } from '../factors/curvature.js';
import { factorSemidefinite, solveFactored } from '../factors/schur.js';
import {
  type ActiveState,
  EQUAL,
  findStateValue,
  FREE,
  IDLE,
  type Iterate,
  LOWER,
  OVER,
  PINNED,
  settleSides,
  UNDER,
  UPPER,
} from '../program/active-state.js';
import { multiplyMetric } from '../program/metric.js';
import {
  addRows,
  computeNormForce,
  computeRowValues,
  createLagrangianCurvature,
  isUnbounded,
  type Program,
} from '../program/program.js';
import {
  computeMeanComplementarity,
  createWork,
  findLongestStep,
  type FoldedRows,
  type InteriorRun,
  type Pairs,
  predictComplementarity,
  setAffineTarget,
  setCentredTarget,
  setNarrowerTarget,
  type InteriorWork,
} from './work.js';

/** Proximal term of equality rows without a penalty in the scaled program. It vanishes at the solution. */
const PROXIMAL_ROW = 1e-10;

/**
 * Returns the diagonal entry of a row in the Schur complement. For an equality without a penalty, it is only the
 * proximal term.
 */
function computeRowSlack({ program, pairs: { on, s, z }, at }: InteriorWork, r: number): number {
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

function computeRowRightSide(work: InteriorWork, r: number, value: number): number {
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
  { program, pairs: { on, s, z, target }, at, rowScale }: InteriorWork,
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
  { program, pairs: { on, s, z, target }, at, rowScale }: InteriorWork,
  r: number,
  value: number,
): number {
  const l = at.rowLower + r;
  const o = at.rowUnder + r;
  const isSoft = on[o] === 1;
  const residual = value - program.rows.lower[r]! * rowScale[r]! - s[l]! + (isSoft ? s[o]! : 0);
  return residual - target[l]! / z[l]! + (isSoft ? target[o]! / z[o]! : 0);
}

function computeKinkRightSide(
  { program, f, pairs: { on, s, z, target }, at, rowResidual }: InteriorWork,
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

/**
 * Sets the weights of the folded rows in an iteration. Returns the weighted rows, whose outer products are added to the
 * curvature.
 */
function setFoldedWeights(work: InteriorWork, { rows, values, weighted, weights }: FoldedRows): Float64Array {
  const { f } = work;
  for (let k = 0; k < rows.length; k++) {
    weights[k] = 1 / computeRowSlack(work, rows[k]!);
    const root = Math.sqrt(weights[k]!);
    for (let e = k * f; e < k * f + f; e++) weighted[e] = root * values[e]!;
  }
  return weighted;
}

/** Adds the contribution of the folded rows to the right-hand sides of the securities. */
function addFoldedRightSide(
  work: InteriorWork,
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
  work: InteriorWork,
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
function computePairSteps(work: InteriorWork): void {
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

function advance(work: InteriorWork, length: number): void {
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
function factorRegularised(work: InteriorWork, curvature: Curvature): boolean {
  for (; work.proximal <= PROXIMAL_MAX; work.proximal *= 100) if (factor(work, curvature)) return true;
  return false;
}

/** Computes the curvature with barrier terms, the columns and the Schur complement of this iteration. */
function factor(work: InteriorWork, curvature: Curvature): boolean {
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
function solveDirection(work: InteriorWork, curvature: Curvature): void {
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
function addCorrection(
  work: InteriorWork,
  curvature: Curvature,
  names: Float64Array,
  columnsRight: Float64Array,
): void {
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
function computeSystemResidual(work: InteriorWork): void {
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

/** Returns entry i of the scaled objective gradient, without multipliers; valid after `computeResiduals`. */
function computeObjectiveSlope({ program, scale, x, product }: InteriorWork, i: number): number {
  const curvedSlope = program.metric !== null && program.curvature !== 0 ? program.curvature * product[i]! : 0;
  return scale * (curvedSlope + program.ridge * (x[i]! - program.centre[i]!) + program.linear[i]!);
}

/**
 * Computes the gradient of the Lagrangian, the residuals of the rows and the values of the norms. The gradient is
 * undefined for fixed securities.
 */
function computeResiduals(work: InteriorWork): void {
  const {
    program,
    free,
    f,
    pairs,
    at,
    x,
    y,
    t,
    rowScale,
    rowResidual,
    rowMultipliers,
    gradient,
    offset,
    product,
    normExcess,
    normGradient,
    normRadius,
  } = work;
  const { n, metric, rows, kinks, norms, centre } = program;
  const { on, s, z } = pairs;
  const m = rows.count;
  work.primalResidual = 0;
  for (let q = 0; q < norms.length; q++) {
    const norm = norms[q]!;
    for (let i = 0; i < n; i++) offset[i] = x[i]! - norm.centre[i]!;
    const from = computeNormForce(program, norm, offset, product);
    let square = 0;
    for (let i = 0; i < n; i++) square += offset[i]! * from[i]!;
    normExcess[q] = (square - norm.radius * norm.radius) / (2 * normRadius[q]!);
    for (let p = 0; p < f; p++) normGradient[q * f + p] = from[free[p]!]! / normRadius[q]!;
    rowResidual[m + kinks.length + q] = -normExcess[q]! - s[at.norm + q]!;
    work.primalResidual = Math.max(work.primalResidual, Math.abs(rowResidual[m + kinks.length + q]!));
  }
  for (let i = 0; i < n; i++) offset[i] = x[i]! - centre[i]!;
  if (metric !== null && program.curvature !== 0) multiplyMetric(metric, offset, product);
  let largest = 1e-3;
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    const slope = computeObjectiveSlope(work, i);
    work.primalResidual = Math.max(
      work.primalResidual,
      Math.abs(work.lowerResidual[p]!),
      Math.abs(work.upperResidual[p]!),
    );
    gradient[i] =
      slope - (on[at.lower + p] === 1 ? z[at.lower + p]! : 0) + (on[at.upper + p] === 1 ? z[at.upper + p]! : 0);
    largest = Math.max(largest, Math.abs(slope));
  }
  const rowRange = { matrix: rows.coefficients, width: n, from: 0, to: m };
  computeRowValues(rowRange, x, rowResidual);
  for (let r = 0; r < m; r++) {
    rowMultipliers[r] = y[r]! * rowScale[r]!;
    work.primalResidual = Math.max(work.primalResidual, measureRowViolation(work, r, rowResidual[r]!));
  }
  addRows(rowRange, rowMultipliers, gradient);
  for (let k = 0; k < kinks.length; k++) {
    const { left, right, at: where, limit } = kinks[k]!;
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const step = x[i]! - where[i]!;
      sum += (step > 0 ? right[i]! : left[i]!) * step;
    }
    let total = 0;
    for (let p = 0; p < f; p++) {
      const i = free[p]!;
      const step = x[i]! - where[i]!;
      const force = (step > 0 ? right[i]! : left[i]!) * step;
      sum -= force;
      if (on[at.left + k * f + p] === 0) {
        total += force;
        continue;
      }
      total += t[k * f + p]!;
      gradient[i]! += left[i]! * z[at.left + k * f + p]! + right[i]! * z[at.right + k * f + p]!;
    }
    if (limit === null) continue;
    const limitSlack = on[at.limitOver + k] === 1 ? s[at.limitOver + k]! : 0;
    rowResidual[m + k] = limit - sum - total - s[at.limit + k]! + limitSlack;
    work.primalResidual = Math.max(work.primalResidual, Math.abs(rowResidual[m + k]!));
  }
  for (let q = 0; q < norms.length; q++) {
    const multiplier = z[at.norm + q]!;
    for (let p = 0; p < f; p++) gradient[free[p]!]! += multiplier * normGradient[q * f + p]!;
  }
  let largestResidual = 0;
  for (let p = 0; p < f; p++) largestResidual = Math.max(largestResidual, Math.abs(gradient[free[p]!]!));
  work.dualResidual = largestResidual;
  work.gradientScale = largest;
}

/** Returns the largest scaled difference between a row's slacks and its value. */
function measureRowViolation(
  { program, pairs: { on, s }, at, rowScale }: InteriorWork,
  r: number,
  value: number,
): number {
  const { lower, upper } = program.rows;
  if (on[at.rowUpper + r] === 0 && on[at.rowLower + r] === 0) {
    if (lower[r] !== upper[r]) return 0;
    return Math.abs(upper[r]! - value) * rowScale[r]!;
  }
  let largestViolation = 0;
  if (on[at.rowUpper + r] === 1) largestViolation = Math.abs(measureUpperMismatch(upper[r]!, value, r));
  if (on[at.rowLower + r] === 1)
    largestViolation = Math.max(largestViolation, Math.abs(measureLowerMismatch(lower[r]!, value, r)));
  return largestViolation;

  function measureUpperMismatch(bound: number, at_: number, row: number): number {
    return (
      (bound - at_) * rowScale[row]! - s[at.rowUpper + row]! + (on[at.rowOver + row] === 1 ? s[at.rowOver + row]! : 0)
    );
  }
  function measureLowerMismatch(bound: number, at_: number, row: number): number {
    return (
      (at_ - bound) * rowScale[row]! - s[at.rowLower + row]! + (on[at.rowUnder + row] === 1 ? s[at.rowUnder + row]! : 0)
    );
  }
}

/** Sets a starting point well inside every bound, with slacks and duals of equal size. */
function setStart(work: InteriorWork): void {
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
function setFarStart(work: InteriorWork, curvature: Curvature): void {
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
function scaleAllDuals(work: InteriorWork): void {
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

/** Writes the point in the units of the program, and the active set that the pairs indicate. */
function readSolution(work: InteriorWork, state: ActiveState, iterate: Iterate): void {
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

export interface InteriorPointOutcome {
  /** `optimal`: residuals and complementarity are below their tolerances. `stalled`: they no longer decrease. */
  readonly status: 'optimal' | 'stalled';
  readonly iterations: number;
  /** Largest residual of bounds, rows, limits and norms. Rows are scaled to a largest coefficient of 1. */
  readonly primalResidual: number;
}

/**
 * Maximum complementarity of the scaled program at which the active set is reliable. Larger values made the polish fail
 * under turnover limits.
 */
const COMPLEMENTARITY_MAX = 1e-11;

/**
 * Maximum residuals of an optimal point. The first limits the residuals of the rows, the second the gradient relative
 * to its magnitude.
 */
const PRIMAL_MAX = 1e-10;

const DUAL_MAX = 1e-10;

/**
 * Maximum complementarity and gradient of a `deep` run, as small as rounding permits. If a singular curvature leaves
 * many points nearly optimal, the small forces of a tie-breaking term then select one of them.
 */
const DEEP_TOLERANCE = 1e-20;

/** All three tolerances of a `rough` run. */
const ROUGH_TOLERANCE = 1e-2;

const EXACT_TOLERANCES = { complementarity: COMPLEMENTARITY_MAX, primal: PRIMAL_MAX, stationarity: DUAL_MAX };

const TOLERANCES: Readonly<Record<InteriorRun, typeof EXACT_TOLERANCES>> = {
  near: EXACT_TOLERANCES,
  deep: { complementarity: DEEP_TOLERANCE, primal: PRIMAL_MAX, stationarity: DEEP_TOLERANCE },
  far: EXACT_TOLERANCES,
  rough: { complementarity: ROUGH_TOLERANCE, primal: ROUGH_TOLERANCE, stationarity: ROUGH_TOLERANCE },
};

/** Maximum number of iterations; eight to twenty are usual. */
const ITERATIONS_MAX = 100;

/** Number of iterations without progress after which the best point so far is returned. */
const PATIENCE = 15;

/**
 * Number of iterations without progress after which a `far` run ends if its complementarity is already small enough.
 * Only residuals then count as progress, and rounding ends their decrease.
 */
const PATIENCE_FAR = 2;

/**
 * Maximum number of centrality corrections per iteration of a `far` run. Each costs one solve with the current factors.
 */
const CORRECTIONS_MAX = 3;

/**
 * Increase of the step length that a correction aims at. The second value is the fraction of it that a correction must
 * reach.
 */
const STEP_INCREASE = 0.3;

const STEP_INCREASE_SHARE = 0.1;

/**
 * Step length below which a step counts as short. The second value is the number of consecutive short steps after which
 * the run ends as stalled.
 */
const SHORT_STEP = 0.01;

const SHORT_STEPS_MAX = 12;

/** Step length as a fraction of the distance to the boundary. */
const STEP_SHARE = 0.995;

/**
 * Runs Mehrotra's predictor-corrector interior-point method. The variables of kinks and of penalties are eliminated: a
 * turnover limit adds one row to the Schur complement and no variable, and a penalty adds only a diagonal entry.
 * @param iterate    Overwritten with the final point.
 * @param state      Overwritten with the active set that the final pairs indicate.
 * @param run        `near` starts inside the bounds around the centre; `deep` starts there too and continues until
 *                   rounding; `far` starts where the rows nearly hold, possibly outside the bounds; `rough` ends near
 *                   the optimum.
 * @cost           8 to 20 iterations of n^3 / 6 + m n^2.
 * @source         Mehrotra (1992), SIAM J. Optimization 2(4), 575-601; Friedlander & Orban (2012), Math. Prog. Comp. 4,
 *   71-107 (proximal terms).
 */
export function runInteriorPoint(
  program: Program,
  curvature: Curvature,
  state: ActiveState,
  iterate: Iterate,
  run: InteriorRun = 'near',
): InteriorPointOutcome {
  const work = createWork(program, run);
  const { complementarity, primal, stationarity } = TOLERANCES[run];
  setStart(work);
  if (run === 'far') setFarStart(work, curvature);
  let outcome: InteriorPointOutcome = { status: 'stalled', iterations: 0, primalResidual: Number.POSITIVE_INFINITY };
  let shortSteps = 0;
  const progress = createProgress(work, run);
  for (let iteration = 1; iteration <= ITERATIONS_MAX; iteration++) {
    computeResiduals(work);
    const mu = computeMeanComplementarity(work.pairs);
    outcome = { status: 'stalled', iterations: iteration, primalResidual: work.primalResidual };
    if (
      mu <= complementarity &&
      work.primalResidual <= primal &&
      work.dualResidual <= stationarity * work.gradientScale
    ) {
      outcome = { ...outcome, status: 'optimal' };
      break;
    }
    if (!progress.goesOn(iteration, mu)) break;
    if (!factorRegularised(work, curvature)) break;
    setAffineTarget(work.pairs);
    solveDirection(work, curvature);
    const affineLength = findLongestStep(work.pairs);
    const centring = mu > 0 ? raiseToPower(predictComplementarity(work.pairs, affineLength) / mu, 3) : 0;
    const targetMu = Math.min(centring, 1) * mu;
    setCentredTarget(work.pairs, targetMu);
    solveDirection(work, curvature);
    if (run === 'far') addCentralityCorrections(work, curvature, targetMu);
    const length = Math.min(1, STEP_SHARE * findLongestStep(work.pairs));
    shortSteps = length < SHORT_STEP ? shortSteps + 1 : 0;
    if (!(length > 1e-13) || shortSteps > SHORT_STEPS_MAX) break;
    advance(work, length);
  }
  if (outcome.status === 'stalled') progress.takeBest();
  readSolution(work, state, iterate);
  return outcome;
}

interface Progress {
  /** Returns false if residuals and complementarity have not decreased for too long. */
  goesOn(iteration: number, mu: number): boolean;
  takeBest(): void;
}

function createProgress(work: InteriorWork, run: InteriorRun): Progress {
  const { x, y, pairs } = work;
  const lowest = { mu: Infinity, primal: Infinity, dual: Infinity };
  const bestIterate = { x: x.slice(), y: y.slice(), s: pairs.s.slice(), z: pairs.z.slice() };
  let merit = Number.POSITIVE_INFINITY;
  let last = 0;
  return {
    goesOn(iteration, mu) {
      const primal = work.primalResidual;
      const dual = work.dualResidual / work.gradientScale;
      const isSettled = run === 'far' && mu <= COMPLEMENTARITY_MAX;
      if ((mu < lowest.mu && !isSettled) || primal < lowest.primal || dual < lowest.dual) last = iteration;
      lowest.mu = Math.min(lowest.mu, mu);
      lowest.primal = Math.min(lowest.primal, primal);
      lowest.dual = Math.min(lowest.dual, dual);
      const largest = Math.max(mu, primal, dual);
      if (!(largest < merit)) return iteration - last <= (isSettled ? PATIENCE_FAR : PATIENCE);
      merit = largest;
      bestIterate.x.set(x);
      bestIterate.y.set(y);
      bestIterate.s.set(pairs.s);
      bestIterate.z.set(pairs.z);
      return true;
    },
    takeBest() {
      x.set(bestIterate.x);
      y.set(bestIterate.y);
      pairs.s.set(bestIterate.s);
      pairs.z.set(bestIterate.z);
    },
  };
}

/**
 * Corrects the direction so that the products of the pairs become more equal. Stops when a correction no longer
 * lengthens the step.
 * @source  Gondzio (1996), Multiple centrality corrections in a primal-dual method for linear programming,
 *          Computational Optimization and Applications 6.
 */
function addCentralityCorrections(work: InteriorWork, curvature: Curvature, mu: number): void {
  const { pairs, dx, change } = work;
  const parts = [dx, change, pairs.ds, pairs.dz, pairs.target];
  let length = findLongestStep(pairs);
  for (let correction = 0; correction < CORRECTIONS_MAX && length < 1; correction++) {
    const savedParts = parts.map((values) => values.slice());
    const targetLength = Math.min(1, length + STEP_INCREASE);
    setNarrowerTarget(pairs, targetLength, mu);
    solveDirection(work, curvature);
    const newLength = findLongestStep(pairs);
    if (newLength < length + STEP_INCREASE_SHARE * (targetLength - length)) {
      parts.forEach((values, k) => values.set(savedParts[k]!));
      return;
    }
    length = newLength;
  }
}
