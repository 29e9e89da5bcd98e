import type { Program } from '#kernels/optimisation/program/program.js';
import { applyMetric } from '../apply-metric.js';

type Quadratic = Pick<Program, 'metric' | 'curvature' | 'ridge' | 'centre' | 'linear'>;

/** Returns the gradient of the quadratic objective of a program, [n]. @cost a pass over the metric */
export function computeGradient(
  { metric, curvature, ridge, centre, linear }: Quadratic,
  x: Float64Array,
): Float64Array {
  const offset = x.map((value, i) => value - centre[i]!);
  const force = metric === null || curvature === 0 ? undefined : applyMetric(metric, offset);
  return linear.map((value, i) => value + curvature * (force?.[i] ?? 0) + ridge * offset[i]!);
}
