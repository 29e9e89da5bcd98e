import { computeMetricDiagonal, multiplyMetric, addMetrics, type Metric } from './metric.js';
import type { Norm, Program } from './program.js';

/**
 * Returns M offset for the metric M of a norm. For the identity, this is `offset` itself; otherwise it is computed in
 * `product`.
 * @param offset [n]
 * @param product [n], scratch
 * @cost one pass over the metric
 */
export function computeNormForce(
  { metric: ownMetric }: Pick<Program, 'metric'>,
  { metric: kind }: Norm,
  offset: Float64Array,
  product: Float64Array,
): Float64Array {
  if (kind === 'identity') return offset;
  multiplyMetric(kind === 'metric' ? ownMetric! : kind, offset, product);
  return product;
}

/** Computes the distance of x from the centre of a norm, in its metric. @param x [n] @cost one pass over the metric */
export function computeNormLength(program: Program, norm: Norm, x: Float64Array): number {
  const offset = x.map((value, i) => value - norm.centre[i]!);
  const force = computeNormForce(program, norm, offset, new Float64Array(program.n));
  let square = 0;
  for (let i = 0; i < program.n; i++) square += offset[i]! * force[i]!;
  return Math.sqrt(Math.max(square, 0));
}

/** Curvature of the Lagrangian, scale P + ridge I. */
export interface LagrangianCurvature {
  readonly metric: Metric | null;
  readonly scale: number;
  readonly ridge: number;
}

/**
 * Returns the curvature of the Lagrangian. It is the curvature of the objective plus the metric of each norm times its
 * multiplier.
 * @param quadratic      Curvature of the objective.
 * @param weights  Weights of the metrics of the norms, [norms], at least 0.
 * @cost           None, or n^2 for a norm with a separate metric and a nonzero weight.
 * @source         Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.3: norms as squares over two.
 */
export function createLagrangianCurvature(
  { metric, norms }: Program,
  quadratic: Pick<LagrangianCurvature, 'scale' | 'ridge'>,
  weights: ArrayLike<number>,
): LagrangianCurvature {
  let { scale, ridge } = quadratic;
  const parts: { metric: Metric; weight: number }[] = [];
  norms.forEach(({ metric: kind }, q) => {
    const weight = weights[q]!;
    if (kind === 'metric') scale += weight;
    else if (kind === 'identity') ridge += weight;
    else if (weight !== 0) parts.push({ metric: kind, weight });
  });
  if (parts.length === 0) return { metric, scale, ridge };
  if (metric !== null && scale !== 0) parts.unshift({ metric, weight: scale });
  return { metric: addMetrics(parts), scale: 1, ridge };
}

/** Returns the mean of the diagonal of a norm's metric. */
export function computeMeanSquare({ metric: ownMetric, n }: Program, { metric: kind }: Norm): number {
  if (kind === 'identity') return 1;
  return (
    computeMetricDiagonal(kind === 'metric' ? ownMetric! : kind).reduce((sum, value) => sum + value, 0) / Math.max(n, 1)
  );
}
