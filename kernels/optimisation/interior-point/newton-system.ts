import type { Curvature } from '../factors/curvature.js';
import type { Work } from './work.js';
import { multiplyMetric } from '../program/metric.js';
import { computePairSteps } from './newton-step.js';
import { createLagrangianCurvature } from '../program/norms.js';
import { isUnbounded } from '../program/program.js';
import { addFolded, addFoldedRightSide, setFoldedWeights } from './fold-steps.js';
import { computeKinkRightSide, computeRowRightSide, computeRowSlack } from './row-sides.js';
import { factorSemidefinite, solveFactored } from '../factors/schur.js';

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
