import { multiplyMetric, type Metric } from '#kernels/optimisation/program/metric.js';

/** Returns P x, [N], for the metric P. */
export function applyMetric(metric: Metric, x: Float64Array): Float64Array {
  const out = new Float64Array(x.length);
  multiplyMetric(metric, x, out);
  return out;
}
