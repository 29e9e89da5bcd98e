import { assert } from '../assert.js';
import type { DenseAlgebra } from '../optimisation/factors/algebra.js';
import { createCurvature } from '../optimisation/factors/curvature.js';
import { computeMetricDiagonal, type Metric, multiplyMetric } from '../optimisation/program/metric.js';

/** Maximum number of Newton steps; five to seven are usual. */
const NEWTON_MAX = 50;

/** Maximum number of conjugate gradient iterations per step. If more are needed, a factorisation is cheaper. */
const GRADIENTS_MAX = 40;

/**
 * Maximum residual of a step relative to the imbalance, far from the solution. Near the solution, the imbalance itself
 * limits the residual.
 */
const RESIDUAL_MAX = 0.1;

/** Maximum relative difference between a contribution and its budget. */
const TOLERANCE = 1e-13;

/** Maximum relative difference that counts as solved if rounding errors prevent the tolerance. */
const ACCEPTED_ERROR_MAX = 1e-11;

/** Maximum step as a fraction of the distance to the boundary of the positive orthant. */
const STEP_SHARE = 0.95;

/**
 * Computes positive weights whose contributions to the variance equal the budgets: w_i (S w)_i = b_i w'Sw for every i,
 * with a sum of 1. For a positive definite metric, the weights are unique: they are the scaled minimiser of x'Sx / 2 -
 * sum b_i log x_i. Newton's method finds it from the weights under a one-factor model. In relative steps, the Hessian
 * is the diagonal of the budgets plus a term whose largest eigenvalue is about one. A few conjugate gradient iterations
 * therefore solve for a step; a factorisation is used if they converge slowly.
 * @param budgets  [n], positive, of sum 1.
 * @param out      [n], overwritten with the weights.
 * @returns        True if the contributions equal the budgets within a relative error of 1e-11.
 * @throws         KernelFault on a shape mismatch, a budget or a variance that is not positive.
 * @cost           About 15 products with the metric; one factorisation per step if conjugate gradients converge slowly.
 * @source         Spinu (2013), An algorithm for computing risk parity weights; Nocedal & Wright (2006), Numerical
 *   Optimization, 2nd ed., section 7.1, for inexact steps.
 */
export function solveRiskBudgetWeights(
  algebra: DenseAlgebra,
  metric: Metric,
  budgets: Float64Array,
  out: Float64Array,
): boolean {
  const { n } = metric;
  assert(budgets.length === n && out.length === n, `budgets: ${budgets.length} for ${n} names, ${out.length} weights`);
  const variances = computeMetricDiagonal(metric);
  for (let i = 0; i < n; i++) {
    assert(budgets[i]! > 0, `budgets: ${budgets[i]} of name ${i}, more than 0 needed`);
    assert(variances[i]! > 0, `metric: variance ${variances[i]} of name ${i}, more than 0 needed`);
    out[i] = Math.sqrt(budgets[i]! / variances[i]!);
  }
  const isSolved = algebra.scope(() =>
    runNewton(algebra, metric, { budgets, variances, times: createProduct(algebra, metric) }, out),
  );
  let total = 0;
  for (let i = 0; i < n; i++) total += out[i]!;
  for (let i = 0; i < n; i++) out[i]! /= total;
  return isSolved;
}

interface BudgetedSecurities {
  readonly budgets: Float64Array;
  readonly variances: Float64Array;
  /** out = S x */
  readonly times: (x: Float64Array, out: Float64Array) => void;
}

/** Returns a function that multiplies by the metric. A dense matrix is copied to the memory of the engine once. */
function createProduct(algebra: DenseAlgebra, metric: Metric): BudgetedSecurities['times'] {
  if (metric.form === 'factor') return (x, out) => multiplyMetric(metric, x, out);
  const matrix = algebra.room(metric.matrix.length);
  matrix.set(metric.matrix);
  return (x, out) => algebra.symv(matrix, x, out);
}

/** Runs Newton's method on the contributions, with steps short of the boundary of the positive orthant. */
function runNewton(algebra: DenseAlgebra, metric: Metric, names: BudgetedSecurities, x: Float64Array): boolean {
  const { n } = metric;
  const { budgets, times } = names;
  const marginal = new Float64Array(n);
  const right = new Float64Array(n);
  const step = new Float64Array(n);
  times(x, marginal);
  let square = 0;
  for (let i = 0; i < n; i++) square += x[i]! * marginal[i]!;
  for (let i = 0; i < n; i++) {
    x[i]! /= Math.sqrt(square);
    marginal[i]! /= Math.sqrt(square);
  }
  computeOneFactorWeights(names, marginal, x);
  let leastImbalance = Number.POSITIVE_INFINITY;
  for (let iteration = 0; iteration < NEWTON_MAX; iteration++) {
    times(x, marginal);
    let imbalance = 0;
    for (let i = 0; i < n; i++) {
      right[i] = budgets[i]! - x[i]! * marginal[i]!;
      imbalance = Math.max(imbalance, Math.abs(right[i]! / budgets[i]!));
    }
    if (imbalance <= TOLERANCE || (imbalance <= ACCEPTED_ERROR_MAX && imbalance >= leastImbalance / 2)) return true;
    leastImbalance = Math.min(leastImbalance, imbalance);
    const residualMax = Math.max(Math.min(RESIDUAL_MAX, imbalance) * imbalance, TOLERANCE / 4);
    if (
      !stepByGradients(names, { x, right, left: residualMax }, step) &&
      !stepByFactor(algebra, metric, { x, budgets, right }, step)
    )
      return false;
    let length = 1;
    let largest = 0;
    for (let i = 0; i < n; i++) {
      if (step[i]! < 0) length = Math.min(length, -STEP_SHARE / step[i]!);
      largest = Math.max(largest, Math.abs(step[i]!));
    }
    // The step is damped while it is large, as the theory of self-concordant functions requires.
    if (largest > 1) length = Math.min(length, 1 / largest);
    for (let i = 0; i < n; i++) x[i]! *= 1 + length * step[i]!;
  }
  return leastImbalance <= ACCEPTED_ERROR_MAX;
}

/** Minimum specific share of the variance of a security in the one-factor model. */
const SPECIFIC_SHARE_MIN = 0.05;

/** Number of fixed-point rounds for the common part of each security, and for the weights. */
const FACTOR_ROUNDS = 4;
const EXPOSURE_ROUNDS = 40;

/**
 * Computes weights whose contributions equal the budgets under a one-factor model. The model is estimated from the
 * marginal contributions of some weights.
 * @param marginal  S x, [n], with x'S x = 1.
 * @param x         Overwritten with the weights.
 */
function computeOneFactorWeights(
  { budgets, variances }: BudgetedSecurities,
  marginal: Float64Array,
  x: Float64Array,
): void {
  const n = x.length;
  const beta = new Float64Array(n);
  const specific = Float64Array.from(variances, (variance) => SPECIFIC_SHARE_MIN * variance);
  let exposure = 0;
  for (let round = 0; round < FACTOR_ROUNDS; round++) {
    let square = 0;
    for (let i = 0; i < n; i++) square += x[i]! * (marginal[i]! - specific[i]! * x[i]!);
    exposure = Math.sqrt(Math.max(square, 0));
    if (exposure === 0) return;
    for (let i = 0; i < n; i++) {
      beta[i] = (marginal[i]! - specific[i]! * x[i]!) / exposure;
      specific[i] = Math.max(variances[i]! - beta[i]! ** 2, SPECIFIC_SHARE_MIN * variances[i]!);
    }
  }
  const computeWeightAt = (i: number, position: number) =>
    (2 * budgets[i]!) / (beta[i]! * position + Math.sqrt((beta[i]! * position) ** 2 + 4 * specific[i]! * budgets[i]!));
  for (let round = 0; round < EXPOSURE_ROUNDS; round++) {
    let count = 0;
    for (let i = 0; i < n; i++) count += beta[i]! * computeWeightAt(i, exposure);
    const next = (exposure + count) / 2;
    const isSettled = Math.abs(next - exposure) <= 1e-6 * exposure;
    exposure = Math.max(next, 0);
    if (isSettled) break;
  }
  for (let i = 0; i < n; i++) x[i] = computeWeightAt(i, exposure);
}

interface StepRequest {
  readonly x: Float64Array;
  /** Budgets less contributions, [n]. */
  readonly right: Float64Array;
  /** Maximum residual, relative to the budget. */
  readonly left: number;
}

/**
 * Solves (X S X + B) step = right for relative steps by conjugate gradients. @returns true if the residual is within
 * the limit
 */
function stepByGradients(
  { budgets, variances, times }: BudgetedSecurities,
  { x, right, left }: StepRequest,
  step: Float64Array,
): boolean {
  const n = x.length;
  const residuals = right.slice();
  const direction = new Float64Array(n);
  const scaledWay = new Float64Array(n);
  const directionProduct = new Float64Array(n);
  step.fill(0);
  let previousSize = 0;
  for (let k = 0; k < GRADIENTS_MAX; k++) {
    let size = 0;
    for (let i = 0; i < n; i++) size += (residuals[i]! * residuals[i]!) / (x[i]! * x[i]! * variances[i]! + budgets[i]!);
    const momentum = previousSize > 0 ? size / previousSize : 0;
    previousSize = size;
    for (let i = 0; i < n; i++) {
      direction[i] = residuals[i]! / (x[i]! * x[i]! * variances[i]! + budgets[i]!) + momentum * direction[i]!;
      scaledWay[i] = x[i]! * direction[i]!;
    }
    times(scaledWay, directionProduct);
    let curvature = 0;
    for (let i = 0; i < n; i++) {
      directionProduct[i] = x[i]! * directionProduct[i]! + budgets[i]! * direction[i]!;
      curvature += direction[i]! * directionProduct[i]!;
    }
    if (!(curvature > 0)) return false;
    const length = size / curvature;
    let largest = 0;
    for (let i = 0; i < n; i++) {
      step[i]! += length * direction[i]!;
      residuals[i]! -= length * directionProduct[i]!;
      largest = Math.max(largest, Math.abs(residuals[i]! / budgets[i]!));
    }
    if (largest <= left) return true;
  }
  return false;
}

/** Solves (X S X + B) step = right by a factorisation. @returns false if the matrix is not positive definite */
function stepByFactor(
  algebra: DenseAlgebra,
  metric: Metric,
  { x, budgets, right }: Pick<StepRequest, 'x' | 'right'> & Pick<BudgetedSecurities, 'budgets'>,
  step: Float64Array,
): boolean {
  const { n } = metric;
  const curvature = createCurvature(algebra);
  const barrier = budgets.map((budget, i) => budget / (x[i]! * x[i]!));
  if (
    !curvature.factor(
      metric,
      1,
      barrier,
      Int32Array.from({ length: n }, (_, i) => i),
      n,
    )
  )
    return false;
  for (let i = 0; i < n; i++) step[i] = right[i]! / x[i]!;
  curvature.solve(step, 1);
  for (let i = 0; i < n; i++) step[i]! /= x[i]!;
  return true;
}

/** Maximum number of sweeps over the securities; 10 to 40 are usual. */
const SWEEPS_MAX = 2000;

/** Maximum relative difference between the risk contribution of a security and the mean contribution. */
const EQUAL_RISK_TOLERANCE = 1e-11;

interface EqualRiskOutcome {
  readonly status: 'solved' | 'iteration-limit';
  readonly sweeps: number;
}

/**
 * Computes positive weights under which every security contributes the same risk: w_i (S w)_i is equal for all i, and
 * the sum is 1. For a positive definite matrix, the weights are unique: they are the scaled minimiser of x'Sx / 2 -
 * sum(log x) / n, found by coordinate descent.
 * @param covariance [n x n] row-major, symmetric, positive variances; any unit.
 * @param out        [n], overwritten with the weights.
 * @throws           KernelFault on a shape mismatch or a variance that is not positive.
 * @cost             2 n^2 multiply-adds per sweep, 10 to 40 sweeps; scratch of n.
 * @source           Griveau-Billion, Richard & Roncalli (2013), A fast algorithm for computing high-dimensional risk
 *                   parity portfolios, algorithm 1.
 */
export function solveEqualRiskWeights(covariance: Float64Array, out: Float64Array): EqualRiskOutcome {
  const n = out.length;
  assert(covariance.length === n * n, `covariance: ${covariance.length} values for ${n} names`);
  for (let i = 0; i < n; i++) {
    const variance = covariance[i * n + i]!;
    assert(variance > 0, `covariance: variance ${variance} of name ${i}, more than 0 needed`);
    out[i] = 1 / Math.sqrt(variance * n);
  }
  const marginal = new Float64Array(n); // S x
  for (let sweep = 1; sweep <= SWEEPS_MAX; sweep++) {
    multiply(covariance, out, marginal);
    if (measureImbalance(out, marginal) <= EQUAL_RISK_TOLERANCE) {
      scaleToOne(out);
      return { status: 'solved', sweeps: sweep };
    }
    for (let i = 0; i < n; i++) updateCoordinate(covariance, i, out, marginal);
  }
  scaleToOne(out);
  return { status: 'iteration-limit', sweeps: SWEEPS_MAX };
}

/**
 * Sets one coordinate to the positive root of S_ii x^2 + b x = 1/n, where b is the covariance with the others. Updates
 * S x.
 */
function updateCoordinate(covariance: Float64Array, i: number, x: Float64Array, marginal: Float64Array): void {
  const n = x.length;
  const row = i * n;
  const variance = covariance[row + i]!;
  const oldWeight = x[i]!;
  const crossTerm = marginal[i]! - variance * oldWeight;
  const root = Math.sqrt(crossTerm * crossTerm + (4 * variance) / n);
  const newWeight = crossTerm > 0 ? 2 / n / (crossTerm + root) : (root - crossTerm) / (2 * variance);
  x[i] = newWeight;
  const step = newWeight - oldWeight;
  for (let j = 0; j < n; j++) marginal[j]! += step * covariance[row + j]!;
}

/** Returns the largest |n x_i (S x)_i - 1|. */
function measureImbalance(x: Float64Array, marginal: Float64Array): number {
  let largest = 0;
  for (let i = 0; i < x.length; i++) {
    const imbalance = Math.abs(x.length * x[i]! * marginal[i]! - 1);
    if (!(imbalance <= largest)) largest = imbalance;
  }
  return largest;
}

function multiply(a: Float64Array, x: Float64Array, out: Float64Array): void {
  const n = x.length;
  for (let i = 0; i < n; i++) {
    let total = 0;
    for (let j = 0, position = i * n; j < n; j++, position++) total += a[position]! * x[j]!;
    out[i] = total;
  }
}

function scaleToOne(x: Float64Array): void {
  let total = 0;
  for (let i = 0; i < x.length; i++) total += x[i]!;
  for (let i = 0; i < x.length; i++) x[i]! /= total;
}
