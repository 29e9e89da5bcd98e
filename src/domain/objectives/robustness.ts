import { computeMetricDiagonal, computeMetricSquare, type Metric } from '#kernels/optimisation/program/metric.js';

/** Uncertainty of expected returns and covariances, for a worst-case objective. */
export interface Robustness {
  /** Null if expected returns are certain. */
  readonly returns: ReturnsSet | null;
  /** Maximum error of each covariance over the product of the volatilities. */
  readonly spread: number;
}

export type ReturnsSet = EllipsoidSet | BoxSet;

/** Errors e of expected returns with e' M^-1 e at most the radius squared. */
interface EllipsoidSet {
  readonly form: 'ellipsoid';
  readonly radius: number;
  /** M */
  readonly metric: Metric;
}

/** Errors that are each at most their width. */
interface BoxSet {
  readonly form: 'box';
  /** [N] */
  readonly widths: Float64Array;
}

/** Returns the stated expected return less the worst one of a set. @cost a pass over the metric */
export function computeReturnShortfall(returns: ReturnsSet | null, weights: Float64Array): number {
  if (returns === null) return 0;
  if (returns.form === 'ellipsoid')
    return returns.radius * Math.sqrt(Math.max(0, computeMetricSquare(returns.metric, weights)));
  return weights.reduce((sum, weight, i) => sum + returns.widths[i]! * Math.abs(weight), 0);
}

/** Returns the sum of the volatilities weighted by the absolute weights. */
export function computeGrossVolatility(metric: Metric, weights: Float64Array): number {
  const variances = computeMetricDiagonal(metric);
  return weights.reduce((sum, weight, i) => sum + Math.abs(weight) * Math.sqrt(Math.max(0, variances[i]!)), 0);
}

/**
 * Returns the largest variance over the covariances that differ from a metric by at most the spread times the products
 * of volatilities: the variance of the metric plus spread times the outer product of the volatilities with the signs of
 * the weights.
 * @cost a pass over the metric
 * @source Lobo & Boyd (2000), The worst-case risk of a portfolio, for boxes; Tutuncu & Koenig (2004), Robust asset
 *   allocation, Annals of Operations Research 132.
 */
export function computeWorstVariance(metric: Metric, robustness: Robustness | null, weights: Float64Array): number {
  const own = Math.max(0, computeMetricSquare(metric, weights));
  const spread = robustness?.spread ?? 0;
  return spread === 0 ? own : own + spread * computeGrossVolatility(metric, weights) ** 2;
}
