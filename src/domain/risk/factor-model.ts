/** Estimators that make a factor model, by their names on the wire. */
export const FACTOR_ESTIMATORS = ['statistical', 'industries', 'styles'] as const;
export type FactorEstimator = (typeof FACTOR_ESTIMATORS)[number];

/** What made a stored factor model. */
export type FactorSource = FactorEstimator | 'imported';

export function isFactorEstimator(estimator: string): estimator is FactorEstimator {
  return (FACTOR_ESTIMATORS as readonly string[]).includes(estimator);
}

/** A factor model of n names: returns are exposures times factor returns plus something of their own. */
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

/** How well factors explain the returns they were regressed on, K of them. */
export interface FactorFit {
  /** Mean over the sessions of the share of the cross-sectional variance that they explain. */
  readonly rSquared: number;
  /** Mean magnitude of the t-statistic of each factor's return, [K]. */
  readonly tStatistics: Float64Array;
  /** Share of the sessions on which it is above 2, [K]. */
  readonly significant: Float64Array;
}
