import { multiplyMetric } from './metric.js';
import { computeNormForce, computeNormLength } from './norms.js';
import { sumKinks, type Point, type Program } from './program.js';

/**
 * One-sided derivatives of the Lagrangian in each variable, without bounds. The two derivatives differ if the variable
 * is at a kink.
 */
export interface Slopes {
  /** Derivative for a decrease of each variable, [n]. */
  readonly left: Float64Array;
  /** Derivative for an increase of each variable, [n]. */
  readonly right: Float64Array;
}

/**
 * Computes the one-sided derivatives of the Lagrangian, with the multipliers of rows, limits and norms as prices. For a
 * variable at a bound, the derivative is the change of the objective per unit of the bound.
 *
 * @cost    n^2 + m n.
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, section 5.6: multipliers as prices.
 */
export function computeLagrangianSlopes(
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
  const setOffset = (from: Float64Array) => {
    for (let i = 0; i < n; i++) offset[i] = x[i]! - from[i]!;
  };
  setOffset(centre);
  if (metric !== null) multiplyMetric(metric, offset, product);
  add(curvature, product);
  add(ridge, offset);
  for (let r = 0; r < rows.count; r++) add(rowMultipliers[r]!, rows.coefficients, r * n);
  norms.forEach((norm, q) => {
    setOffset(norm.centre);
    add(normMultipliers[q]!, computeNormForce(program, norm, offset, product));
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

/**
 * Computes the difference of the Lagrangian and the objective. It is the sum of the multipliers times the residuals of
 * rows, limits and norms.
 * @cost    m n, and n^2 per norm.
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, section 5.1.1.
 */
export function computeLagrangianExcess(program: Program, point: Point): number {
  const { n, rows, kinks, norms } = program;
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = point;
  let excess = 0;
  for (let r = 0; r < rows.count; r++) {
    const multiplier = rowMultipliers[r]!;
    if (multiplier === 0) continue;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    excess += multiplier * (value - (multiplier > 0 ? rows.upper[r]! : rows.lower[r]!));
  }
  kinks.forEach((kink, k) => {
    if (kink.limit !== null && kinkMultipliers[k]! !== 0)
      excess += kinkMultipliers[k]! * (sumKinks(kink, x) - kink.limit);
  });
  norms.forEach((norm, q) => {
    if (normMultipliers[q]! !== 0)
      excess += (normMultipliers[q]! / 2) * (computeNormLength(program, norm, x) ** 2 - norm.radius ** 2);
  });
  return excess;
}
