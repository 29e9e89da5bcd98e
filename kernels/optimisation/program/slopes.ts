import { metricTimes } from './metric.js';
import { normForce } from './norms.js';
import type { Point, Program } from './program.js';

/** One-sided derivatives of the Lagrangian by each name, bounds apart: they differ where the name sits on a kink. */
export interface Slopes {
  /** [n], on moving down. */
  readonly left: Float64Array;
  /** [n], on moving up. */
  readonly right: Float64Array;
}

/**
 * Effect of a small move of each variable, with the multipliers of rows, limits and norms as prices. At a bound it is
 * the change of the objective per unit of that bound.
 *
 * @cost    n^2 + m n.
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, section 5.6: multipliers as prices.
 */
export function lagrangianSlopes(
  program: Program,
  { x, rowMultipliers, kinkMultipliers, normMultipliers }: Point,
): Slopes {
  const { n, metric, curvature, ridge, centre, linear, rows, kinks, norms } = program;
  const left = Float64Array.from(linear);
  const offset = new Float64Array(n);
  const product = new Float64Array(n);
  const add = (multiplier: number, values: Float64Array, from = 0) => {
    if (multiplier !== 0) for (let i = 0; i < n; i++) left[i]! += multiplier * values[from + i]!;
  };
  const away = (from: Float64Array) => {
    for (let i = 0; i < n; i++) offset[i] = x[i]! - from[i]!;
  };
  away(centre);
  if (metric !== null) metricTimes(metric, offset, product);
  add(curvature, product);
  add(ridge, offset);
  for (let r = 0; r < rows.count; r++) add(rowMultipliers[r]!, rows.coefficients, r * n);
  norms.forEach((norm, q) => {
    away(norm.centre);
    add(normMultipliers[q]!, normForce(program, norm, offset, product));
  });
  const right = left.slice();
  kinks.forEach(({ at, left: below, right: above }, k) => {
    for (let i = 0; i < n; i++) {
      left[i]! += kinkMultipliers[k]! * (x[i]! > at[i]! ? above[i]! : below[i]!);
      right[i]! += kinkMultipliers[k]! * (x[i]! < at[i]! ? below[i]! : above[i]!);
    }
  });
  return { left, right };
}
