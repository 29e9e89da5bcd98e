import { metricTimes, type Metric } from '#kernels/optimisation/program/metric.js';

/**
 * Returns the expected returns above cash at which an index has maximum utility: risk aversion times the covariances
 * with it, [N].
 */
export function equilibriumReturns(metric: Metric, index: Float64Array, riskAversion: number): Float64Array {
  const product = new Float64Array(index.length);
  metricTimes(metric, index, product);
  return product.map((value) => riskAversion * value);
}
