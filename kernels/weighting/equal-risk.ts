import { assert } from '../assert.js';

/** Maximum number of sweeps over the securities; 10 to 40 are usual. */
const SWEEPS_MAX = 2000;

/** Maximum relative difference between the risk contribution of a security and the mean contribution. */
const TOLERANCE = 1e-11;

export interface EqualRiskOutcome {
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
    if (measureImbalance(out, marginal) <= TOLERANCE) {
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
