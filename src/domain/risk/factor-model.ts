/** API names of the factor-model estimators. */
export const FACTOR_ESTIMATORS = ['statistical', 'industries', 'styles'] as const;
export type FactorEstimator = (typeof FACTOR_ESTIMATORS)[number];

/** Origin of a stored factor model. */
export type FactorSource = FactorEstimator | 'imported';

export function isFactorEstimator(estimator: string): estimator is FactorEstimator {
  return (FACTOR_ESTIMATORS as readonly string[]).includes(estimator);
}

/** Factor model of n securities: returns equal exposures times factor returns plus a specific return. */
export interface FactorModel {
  /** Names of the factors, [K]. */
  readonly factors: readonly string[];
  /** Exposures B, [n x K]. */
  readonly exposures: Float64Array;
  /** Factor covariance F, annualised, [K x K]. */
  readonly covariance: Float64Array;
  /** Specific variances D, annualised, [n]. */
  readonly specific: Float64Array;
}

/** Fit of the return regressions of K factors. */
export interface FactorFit {
  /** Mean R-squared of the cross-sectional regressions over the sessions. */
  readonly rSquared: number;
  /** Mean magnitude of the t-statistic of each factor return, [K]. */
  readonly tStatistics: Float64Array;
  /** Fraction of the sessions with a t-statistic above 2 in magnitude, [K]. */
  readonly significant: Float64Array;
}
