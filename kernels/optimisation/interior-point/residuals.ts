import { computeNormForce } from '../program/norms.js';
import type { Work } from './work.js';
import { multiplyMetric } from '../program/metric.js';
import { addRows, computeRowValues } from '../program/row-passes.js';

/** Returns entry i of the scaled objective gradient, without multipliers; valid after `computeResiduals`. */
export function computeObjectiveSlope({ program, scale, x, product }: Work, i: number): number {
  const curvedSlope = program.metric !== null && program.curvature !== 0 ? program.curvature * product[i]! : 0;
  return scale * (curvedSlope + program.ridge * (x[i]! - program.centre[i]!) + program.linear[i]!);
}

/**
 * Computes the gradient of the Lagrangian, the residuals of the rows and the values of the norms. The gradient is
 * undefined for fixed securities.
 */
export function computeResiduals(work: Work): void {
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
function measureRowViolation({ program, pairs: { on, s }, at, rowScale }: Work, r: number, value: number): number {
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
