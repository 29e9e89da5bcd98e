import { metricTimes } from './metric.js';
import type { Norm, Program } from './program.js';

/** Length of what lies between x and the centre of a norm, in its metric. @param x [n] @cost a pass over the metric */
export function normLength({ n, metric }: Program, { centre, metric: kind }: Norm, x: Float64Array): number {
  const offset = x.map((value, i) => value - centre[i]!);
  const product = offset.slice();
  if (kind === 'metric') metricTimes(metric!, offset, product);
  let square = 0;
  for (let i = 0; i < n; i++) square += offset[i]! * product[i]!;
  return Math.sqrt(Math.max(square, 0));
}
