/** Estimators of factor models, by their names in the API. */
export const FACTOR_ESTIMATORS = ['statistical', 'industries', 'styles'] as const;
export type FactorEstimator = (typeof FACTOR_ESTIMATORS)[number];

/** Origin of a stored factor model. */
export type FactorSource = FactorEstimator | 'imported';

export function isFactorEstimator(estimator: string): estimator is FactorEstimator {
  return (FACTOR_ESTIMATORS as readonly string[]).includes(estimator);
}

/** Factor model of n securities: returns are exposures times factor returns plus a specific part. */
export interface FactorModel {
  /** Names of the factors, [K]. */
  readonly factors: readonly string[];
  /** B, [n x K]. */
  readonly exposures: Float64Array;
  /** F, annualised, [K x K]. */
  readonly covariance: Float64Array;
  /** D, annualised, [n]. */
  readonly specific: Float64Array;
}

/** Explanatory power of factors for the returns of their regressions, K factors. */
export interface FactorFit {
  /** Mean share, over the sessions, of the cross-sectional variance that they explain. */
  readonly rSquared: number;
  /** Mean magnitude of the t-statistic of each factor's return, [K]. */
  readonly tStatistics: Float64Array;
  /** Share of the sessions on which it is above 2, [K]. */
  readonly significant: Float64Array;
}
