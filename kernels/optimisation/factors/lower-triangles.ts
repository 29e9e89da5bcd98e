import type { DenseMetric, FactorMetric, Metric } from '../program/metric.js';

/** Adds the lower triangle of scale P_FF + diag to `out`. */
export function addLower(
  metric: Metric | null,
  scale: number,
  diagonal: Float64Array,
  free: Int32Array,
  count: number,
  out: Float64Array,
): void {
  if (metric === null || scale === 0) {
    for (let p = 0; p < count; p++) out[p * count + p]! += diagonal[free[p]!]!;
    return;
  }
  const addedProducts = new Float64Array(count * count);
  fillLower(metric, scale, diagonal, free, count, addedProducts);
  for (let e = 0; e < addedProducts.length; e++) out[e]! += addedProducts[e]!;
}

/** Writes the lower triangle of scale P_FF + diag, the only part that a Cholesky factorisation reads. */
export function fillLower(
  metric: Metric,
  scale: number,
  diagonal: Float64Array,
  free: Int32Array,
  count: number,
  out: Float64Array,
): void {
  if (metric.form === 'dense') gatherLower(metric, scale, diagonal, free, count, out);
  else computeLowerProduct(metric, scale, diagonal, free, count, out);
}

function gatherLower(
  { matrix, n }: DenseMetric,
  scale: number,
  diagonal: Float64Array,
  free: Int32Array,
  count: number,
  out: Float64Array,
): void {
  for (let p = 0; p < count; p++) {
    const row = free[p]! * n;
    const to = p * count;
    for (let q = 0; q <= p; q++) out[to + q] = scale * matrix[row + free[q]!]!;
    out[to + p]! += diagonal[free[p]!]!;
  }
}

function computeLowerProduct(
  metric: FactorMetric,
  scale: number,
  diagonal: Float64Array,
  free: Int32Array,
  count: number,
  out: Float64Array,
): void {
  const { loadings, specific, factors: k } = metric;
  for (let p = 0; p < count; p++) {
    const row = free[p]! * k;
    for (let q = 0; q <= p; q++) {
      const otherRow = free[q]! * k;
      let total = 0;
      for (let f = 0; f < k; f++) total += loadings[row + f]! * loadings[otherRow + f]!;
      out[p * count + q] = scale * total;
    }
    out[p * count + p]! += scale * specific[free[p]!]! + diagonal[free[p]!]!;
  }
}
