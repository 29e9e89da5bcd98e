import { mirrorUpper } from '../algebra/mirror-upper.js';
import { assert } from '../assert.js';
import type { Gram } from './rolling-gram.js';
import { computeAverageCorrelation } from './shrinkage-target.js';

/**
 * Computes a covariance shrunk towards constant correlation, with the intensity given by the shape of the panel, from
 * the moments of the panel about zero.
 *
 * @param gram          X'X and column sums.
 * @param observations  Number of rows of the panel, at least 2.
 * @param scale         Scale of the covariance: the number of periods per year.
 * @param out           [n x n] row-major, overwritten; exactly symmetric.
 * @returns             Nothing; the matrix is in `out`: scale (delta F + (1 - delta) S), delta = n / (n +
 *   observations).
 * @throws              KernelFault on a shape mismatch.
 * @cost                Three passes over n^2 / 2.
 * @source              Ledoit & Wolf (2004), J. Portfolio Management 30(4), 110-119: the target of constant
 *   correlation.
 */
export function shrinkGram({ products, sums }: Gram, observations: number, scale: number, out: Float64Array): void {
  const n = sums.length;
  assert(out.length === n * n, `out: ${out.length} values for ${n} names`);
  assert(observations >= 2, `observations: ${observations}, at least 2 needed`);
  const inverse = 1 / (observations - 1);
  for (let i = 0; i < n; i++) {
    const mean = sums[i]! / observations;
    const row = i * n;
    for (let j = i; j < n; j++) out[row + j] = (products[row + j]! - mean * sums[j]!) * inverse;
  }
  const deviations = Float64Array.from({ length: n }, (_, i) => Math.sqrt(Math.max(0, out[i * n + i]!)));
  const average = computeAverageCorrelation(out, n);
  const delta = n / (n + observations);
  for (let i = 0; i < n; i++) {
    out[i * n + i] = scale * Math.max(0, out[i * n + i]!); // rounding errors may make the variance of a constant column negative
    const common = delta * average * deviations[i]!;
    const row = i * n;
    for (let j = i + 1; j < n; j++) out[row + j] = scale * (common * deviations[j]! + (1 - delta) * out[row + j]!);
  }
  mirrorUpper(out, n);
}
