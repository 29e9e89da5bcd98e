import type { DenseAlgebra } from './algebra.js';
import type { Metric } from '../program/metric.js';

/**
 * Computes a lower bound of the cost of dropping each held variable. The bound is w_i^2 divided by twice the i-th
 * diagonal entry of a matrix: the inverse covariance of the held variables, projected on a constant sum. The bound
 * assumes that the other variables compensate optimally.
 * @param places     Indices of the held variables, ascending, [h].
 * @param weights  Weights of all variables, [n].
 * @returns        Bounds, [h]; Infinity for a single variable; squared weights if the covariance cannot be factored.
 * @cost           h^3 / 6 + h^3 / 2.
 * @source         Hassibi & Stork (1992), Second order derivatives for network pruning: optimal brain surgeon, NIPS 5,
 *                 164-171.
 */
export function computeSaliencies(
  algebra: DenseAlgebra,
  metric: Metric,
  places: Int32Array,
  weights: Float64Array,
): Float64Array {
  const h = places.length;
  const factor = gather(metric, places);
  const ridge = 1e-10 * computeMeanDiagonal(factor, h);
  for (let p = 0; p < h; p++) factor[p * h + p]! += ridge;
  if (algebra.cholesky(factor, h) < h) return Float64Array.from(places, (i) => weights[i]! ** 2);
  const inverse = new Float64Array(h * h);
  for (let p = 0; p < h; p++) inverse[p * h + p] = 1;
  algebra.solveLower(factor, h, inverse);
  // The diagonal of (L L')^-1 contains the sums of the squares of the rows of L^-1. S^-1 1 follows from the sums of
  // these rows.
  const diagonal = new Float64Array(h);
  const projection = new Float64Array(h);
  for (let k = 0; k < h; k++) {
    let sum = 0;
    for (let p = 0; p <= k; p++) {
      const value = inverse[k * h + p]!;
      diagonal[p]! += value * value;
      sum += value;
    }
    for (let p = 0; p <= k; p++) projection[p]! += inverse[k * h + p]! * sum;
  }
  const total = projection.reduce((sum, value) => sum + value, 0);
  return Float64Array.from(places, (i, p) => {
    const projectedVariance = diagonal[p]! - (projection[p]! * projection[p]!) / total;
    return projectedVariance > 0 ? (weights[i]! * weights[i]!) / (2 * projectedVariance) : Number.POSITIVE_INFINITY;
  });
}

function gather(metric: Metric, places: Int32Array): Float64Array {
  const h = places.length;
  const out = new Float64Array(h * h);
  for (let p = 0; p < h; p++) {
    for (let q = 0; q <= p; q++) out[p * h + q] = out[q * h + p] = readEntry(metric, places[p]!, places[q]!);
  }
  return out;
}

function readEntry(metric: Metric, i: number, j: number): number {
  if (metric.form === 'dense') return metric.matrix[i * metric.n + j]!;
  const { factors: k, loadings, specific } = metric;
  let total = i === j ? specific[i]! : 0;
  for (let f = 0; f < k; f++) total += loadings[i * k + f]! * loadings[j * k + f]!;
  return total;
}

function computeMeanDiagonal(matrix: Float64Array, n: number): number {
  let total = 0;
  for (let i = 0; i < n; i++) total += matrix[i * n + i]!;
  return total / Math.max(n, 1);
}
