import { multiplyMetric, type Metric } from '#kernels/optimisation/program/metric.js';

/**
 * Returns the expected returns in excess of cash at which the index weights maximise utility. They are risk aversion
 * times the covariances with the index, [N].
 */
export function computeEquilibriumReturns(metric: Metric, index: Float64Array, riskAversion: number): Float64Array {
  const product = new Float64Array(index.length);
  multiplyMetric(metric, index, product);
  return product.map((value) => riskAversion * value);
}
