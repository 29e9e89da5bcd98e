import { multiplyMetric, type Metric } from '#kernels/optimisation/program/metric.js';

/** P x, [N]. */
export function applyMetric(metric: Metric, x: Float64Array): Float64Array {
  const out = new Float64Array(x.length);
  multiplyMetric(metric, x, out);
  return out;
}
