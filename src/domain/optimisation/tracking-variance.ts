import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import type { Problem } from './problem.js';

/** Returns the tracking variance (w - b)' Sigma (w - b). */
export function computeTrackingVariance(
  { metric, index }: Pick<Problem, 'metric' | 'index'>,
  weights: Float64Array,
): number {
  return Math.max(
    0,
    computeMetricSquare(
      metric,
      weights.map((weight, i) => weight - index[i]!),
    ),
  );
}
