import { assert } from '../assert.js';
import type { Curvature } from '../optimisation/factors/curvature.js';
import { metricDiagonal, metricTimes, type Metric } from '../optimisation/program/metric.js';

/** Sweeps over the names before Newton's method at most: as many as one factor of a thousand names costs. */
const SWEEPS_MAX = 40;

/** Sweeps after which slow ones are left to Newton's method. */
const SWEEPS_MIN = 6;

/** Share of the imbalance that a sweep may leave: a quarter is usual. */
const SLOW = 0.5;

const NEWTON_MAX = 50;

/** Largest relative difference of a contribution from its budget. */
const TOLERANCE = 1e-13;

/** Differences that count as solved where rounding leaves more than the tolerance. */
const ACCEPTED = 1e-11;

/** A step goes at most so far towards the edge of the positive orthant. */
const STEP_SHARE = 0.95;

/**
 * Positive weights whose contributions to the variance are the budgets: w_i (S w)_i = b_i w'Sw for every i, sum 1. They
 * are unique for a positive definite metric: the scaled minimiser of x'Sx / 2 - sum b_i log x_i, by sweeps over its
 * coordinates, and by Newton's method where those are slow.
 *
 * @param budgets  [n], positive, of sum 1.
 * @param out      [n], overwritten with the weights.
 * @returns        Whether the contributions are the budgets to 1e-11, relative.
 * @throws         KernelFault on a shape mismatch, a budget or a variance that is not positive.
 * @cost           about 20 sweeps of n^2 multiply-adds (4 n k for loadings); where they are slow 6, then 2 to 5 factors of
 *   the curvature.
 * @source         Spinu (2013), An algorithm for computing risk parity weights; Griveau-Billion, Richard & Roncalli
 *   (2013), algorithm 1.
 */
export function riskBudgetWeights(
  curvature: Curvature,
  metric: Metric,
  budgets: Float64Array,
  out: Float64Array,
): boolean {
  const { n } = metric;
  assert(budgets.length === n && out.length === n, `budgets: ${budgets.length} for ${n} names, ${out.length} weights`);
  const variances = metricDiagonal(metric);
  for (let i = 0; i < n; i++) {
    assert(budgets[i]! > 0, `budgets: ${budgets[i]} of name ${i}, more than 0 needed`);
    assert(variances[i]! > 0, `metric: variance ${variances[i]} of name ${i}, more than 0 needed`);
    out[i] = Math.sqrt(budgets[i]! / variances[i]!);
  }
  const marginal = new Float64Array(n); // S x
  metricTimes(metric, out, marginal);
  let square = 0;
  for (let i = 0; i < n; i++) square += out[i]! * marginal[i]!;
  const scale = 1 / Math.sqrt(square);
  for (let i = 0; i < n; i++) {
    out[i]! *= scale;
    marginal[i]! *= scale;
  }
  let imbalance = Number.POSITIVE_INFINITY;
  for (let sweep = 0; sweep < SWEEPS_MAX && imbalance > TOLERANCE / 2; sweep++) {
    sweepOver(metric, { budgets, variances }, out, marginal);
    const before = imbalance;
    imbalance = imbalanceOf(budgets, out, marginal);
    if (sweep >= SWEEPS_MIN && imbalance > SLOW * before) break;
  }
  const isSolved = newton(curvature, metric, budgets, out);
  let total = 0;
  for (let i = 0; i < n; i++) total += out[i]!;
  for (let i = 0; i < n; i++) out[i]! /= total;
  return isSolved;
}

interface Names {
  readonly budgets: Float64Array;
  readonly variances: Float64Array;
}

/** Largest relative difference of a contribution from its budget. */
function imbalanceOf(budgets: Float64Array, x: Float64Array, marginal: Float64Array): number {
  let largest = 0;
  for (let i = 0; i < x.length; i++) largest = Math.max(largest, Math.abs((x[i]! * marginal[i]!) / budgets[i]! - 1));
  return largest;
}

/**
 * Moves each coordinate in turn to the positive root of S_ii x^2 + c x = b_i, c the covariance with the others. S x
 * follows.
 */
function sweepOver(metric: Metric, { budgets, variances }: Names, x: Float64Array, marginal: Float64Array): void {
  const { n } = metric;
  const moveOf = (i: number, slope: number): number => {
    const variance = variances[i]!;
    const rest = slope - variance * x[i]!;
    const root = Math.sqrt(rest * rest + 4 * variance * budgets[i]!);
    const moved = rest > 0 ? (2 * budgets[i]!) / (rest + root) : (root - rest) / (2 * variance);
    const step = moved - x[i]!;
    x[i] = moved;
    return step;
  };
  if (metric.form === 'dense') {
    const { matrix } = metric;
    for (let i = 0; i < n; i++) {
      const step = moveOf(i, marginal[i]!);
      for (let j = 0, at = i * n; j < n; j++, at++) marginal[j]! += step * matrix[at]!;
    }
    return;
  }
  const { loadings, specific, factors: k } = metric;
  const scores = new Float64Array(k);
  for (let i = 0; i < n; i++) for (let f = 0; f < k; f++) scores[f]! += loadings[i * k + f]! * x[i]!;
  for (let i = 0; i < n; i++) {
    let slope = specific[i]! * x[i]!;
    for (let f = 0; f < k; f++) slope += loadings[i * k + f]! * scores[f]!;
    const step = moveOf(i, slope);
    for (let f = 0; f < k; f++) scores[f]! += step * loadings[i * k + f]!;
  }
  metricTimes(metric, x, marginal);
}

/** Newton's method on the gradient S x - b / x, each step short of the edge. */
function newton(curvature: Curvature, metric: Metric, budgets: Float64Array, x: Float64Array): boolean {
  const { n } = metric;
  const free = Int32Array.from({ length: n }, (_, i) => i);
  const marginal = new Float64Array(n);
  const diagonal = new Float64Array(n);
  const step = new Float64Array(n);
  let least = Number.POSITIVE_INFINITY;
  for (let iteration = 0; iteration < NEWTON_MAX; iteration++) {
    metricTimes(metric, x, marginal);
    const imbalance = imbalanceOf(budgets, x, marginal);
    for (let i = 0; i < n; i++) {
      step[i] = budgets[i]! / x[i]! - marginal[i]!;
      diagonal[i] = budgets[i]! / (x[i]! * x[i]!);
    }
    if (imbalance <= TOLERANCE || (imbalance <= ACCEPTED && imbalance >= least / 2)) return true;
    least = Math.min(least, imbalance);
    if (!curvature.factor(metric, 1, diagonal, free, n)) return false;
    curvature.solve(step, 1);
    let length = 1;
    for (let i = 0; i < n; i++) if (step[i]! < 0) length = Math.min(length, (-STEP_SHARE * x[i]!) / step[i]!);
    // The squared length of the step in the barrier's own metric: damped while it is large, as self-concordance has it.
    let decrement = 0;
    for (let i = 0; i < n; i++) decrement = Math.max(decrement, Math.abs(step[i]! / x[i]!));
    if (decrement > 1) length = Math.min(length, 1 / decrement);
    for (let i = 0; i < n; i++) x[i]! += length * step[i]!;
  }
  return least <= ACCEPTED;
}
