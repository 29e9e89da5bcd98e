import { computeMetricDiagonal, computeMetricSquare, type Metric } from '#kernels/optimisation/program/metric.js';

/** Uncertainty of expected returns and covariances, for a worst-case objective. */
export interface Robustness {
  /** Uncertainty of expected returns; null if they are certain. */
  readonly returns: ReturnsSet | null;
  /** Maximum error of each covariance, as a fraction of the product of both volatilities. */
  readonly spread: number;
}

export type ReturnsSet = EllipsoidSet | BoxSet;

/** Errors e of expected returns within an ellipsoid: e' M^-1 e is at most the squared radius. */
interface EllipsoidSet {
  readonly form: 'ellipsoid';
  readonly radius: number;
  /** Matrix M. */
  readonly metric: Metric;
}

/** Errors of expected returns within a box: the magnitude of each error is at most its width. */
interface BoxSet {
  readonly form: 'box';
  /** [N] */
  readonly widths: Float64Array;
}

/**
 * Returns how much lower the expected return is in the worst case of an uncertainty set than at the estimates.
 * @cost a pass over the metric
 */
export function computeReturnShortfall(returns: ReturnsSet | null, weights: Float64Array): number {
  if (returns === null) return 0;
  if (returns.form === 'ellipsoid')
    return returns.radius * Math.sqrt(Math.max(0, computeMetricSquare(returns.metric, weights)));
  return weights.reduce((sum, weight, i) => sum + returns.widths[i]! * Math.abs(weight), 0);
}

/** Returns the sum of the volatilities, weighted by the absolute portfolio weights. */
export function computeGrossVolatility(metric: Metric, weights: Float64Array): number {
  const variances = computeMetricDiagonal(metric);
  return weights.reduce((sum, weight, i) => sum + Math.abs(weight) * Math.sqrt(Math.max(0, variances[i]!)), 0);
}

/**
 * Returns the largest variance that uncertain covariances allow. Each covariance may differ from the metric by at most
 * the spread times the product of both volatilities. The result is the variance under the metric plus the spread times
 * the squared gross volatility.
 * @cost a pass over the metric
 * @source Lobo & Boyd (2000), The worst-case risk of a portfolio, for boxes; Tutuncu & Koenig (2004), Robust asset
 * allocation, Annals of Operations Research 132.
 */
export function computeWorstVariance(metric: Metric, robustness: Robustness | null, weights: Float64Array): number {
  const variance = Math.max(0, computeMetricSquare(metric, weights));
  const spread = robustness?.spread ?? 0;
  return spread === 0 ? variance : variance + spread * computeGrossVolatility(metric, weights) ** 2;
}
