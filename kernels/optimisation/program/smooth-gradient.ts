import { multiplyMetric } from './metric.js';
import type { Program } from './program.js';

/** Computes out := (curvature P + ridge I) step, [n]. */
export function multiplyCurvature({ metric, curvature, ridge }: Program, step: Float64Array, out: Float64Array): void {
  if (metric === null || curvature === 0) out.fill(0);
  else multiplyMetric(metric, step, out);
  for (let i = 0; i < step.length; i++) out[i] = curvature * out[i]! + ridge * step[i]!;
}

/** Returns the gradient of the objective without its kinks, [n]. @cost n^2 */
export function computeSmoothGradient(program: Program, x: Float64Array): Float64Array {
  const gradient = new Float64Array(x.length);
  multiplyCurvature(
    program,
    x.map((value, i) => value - program.centre[i]!),
    gradient,
  );
  for (let i = 0; i < x.length; i++) gradient[i]! += program.linear[i]!;
  return gradient;
}
