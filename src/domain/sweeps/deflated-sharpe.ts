import { raiseToPower } from '#kernels/power.js';
import { computeNormalQuantile } from '#kernels/random/normal-quantile.js';
import { computeNormalProbability } from '#kernels/weighting/normal-probability.js';
import { isConstant } from '../numbers/constant.js';

/** Statistics of the returns of one variant for the deflated Sharpe ratio. */
export interface SharpeSample {
  /** Mean over deviation (ddof 1) of the returns per period, not annualised. 0 if there is no deviation. */
  readonly sharpe: number;
  /**
   * Population skewness and kurtosis: third and fourth standardised central moments. 0 and 3 if there is no deviation.
   */
  readonly skewness: number;
  readonly kurtosis: number;
  readonly observations: number;
}

/** Returns the statistics of returns. @param returns [T] @cost two passes */
export function createSharpeSample(returns: Float64Array): SharpeSample {
  const count = returns.length;
  let sum = 0;
  for (const value of returns) sum += value;
  const mean = count === 0 ? 0 : sum / count;
  let second = 0;
  let thirdMoment = 0;
  let fourthMoment = 0;
  for (const value of returns) {
    const d = value - mean;
    const square = d * d;
    second += square;
    thirdMoment += square * d;
    fourthMoment += square * square;
  }
  const deviation = count < 2 ? 0 : Math.sqrt(second / (count - 1));
  if (isConstant(deviation)) return { sharpe: 0, skewness: 0, kurtosis: 3, observations: count };
  const variance = second / count;
  return {
    sharpe: mean / deviation,
    skewness: thirdMoment / count / raiseToPower(variance, 1.5),
    kurtosis: fourthMoment / count / variance ** 2,
    observations: count,
  };
}

const EULER = 0.5772156649015329;

/**
 * Returns the expected maximum Sharpe ratio of several trials without skill.
 * @param variance Variance of the Sharpe ratios of the trials.
 * @source Bailey and López de Prado (2014), The Deflated Sharpe Ratio, Journal of Portfolio Management 40(5), equation
 *   1.
 */
export function computeExpectedMaximumSharpe({
  trials,
  variance,
}: {
  readonly trials: number;
  readonly variance: number;
}): number {
  if (trials < 2) return 0;
  return (
    Math.sqrt(variance) *
    ((1 - EULER) * computeNormalQuantile(1 - 1 / trials) + EULER * computeNormalQuantile(1 - 1 / (trials * Math.E)))
  );
}

/**
 * Returns the probability that the true Sharpe ratio of a sample exceeds a threshold, given its skewness and kurtosis.
 * @returns null with fewer than two observations, or if the variance of the estimate is not positive.
 * @source Bailey and López de Prado (2014), equation 2.
 */
export function computeProbabilisticSharpe(
  { sharpe, skewness, kurtosis, observations }: SharpeSample,
  threshold: number,
): number | null {
  const spread = 1 - skewness * sharpe + ((kurtosis - 1) / 4) * sharpe ** 2;
  if (observations < 2 || !(spread > 0)) return null;
  return computeNormalProbability(((sharpe - threshold) * Math.sqrt(observations - 1)) / Math.sqrt(spread));
}
