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
