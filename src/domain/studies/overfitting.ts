import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { raiseToPower } from '#kernels/power.js';
import { computeNormalProbability, computeNormalQuantile } from '#kernels/random/normal-distribution.js';
import { type BlockSums, countHalves, FIGURES_PER_CHOICE } from '#kernels/sums/halving-choices.js';
import { computeMedian, CONSTANT_VARIANCE, isConstant } from '../base/numbers.js';

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

/** Result of combinatorially symmetric cross-validation of choosing the best of several variants by Sharpe ratio. */
export interface Overfitting {
  /** Fraction of the selections whose choice is at or below the median out of sample. */
  readonly probability: number;
  /** Probability of a random choice among the variants. */
  readonly chanceLevel: number;
  /** Fraction of the selections whose choice has a loss out of sample. */
  readonly probabilityOfLoss: number;
  /** Median over the selections of the logit of the relative rank of the choice out of sample. */
  readonly medianLogit: number;
  /** Number of selections of half of the blocks. */
  readonly combinations: number;
  readonly partitions: number;
  readonly observations: number;
}

export interface OverfittingInput {
  readonly variants: number;
  /** Number of returns of each variant, on the common dates of all. */
  readonly observations: number;
  /** Number of blocks, even and at least 2. */
  readonly partitions: number;
}

/**
 * Returns the probability that a random choice among variants is at or below their median. It is above one half for an
 * odd number, whose middle variant is the median.
 */
const computeChanceLevel = (variants: number): number => Math.ceil(variants / 2) / variants;

/** Estimate for variants whose returns are added one variant at a time. It keeps only sums by block. */
export interface OverfittingEstimate {
  /** Adds a variant. @param returns [T], each variant once */
  add(variant: number, returns: Float64Array): void;
  /** Computes the estimate. @param engine engine that evaluates the choices. Default: plain loops. */
  end(engine?: Engine): Overfitting;
}

/**
 * Creates an empty estimate of the probability of backtest overfitting by combinatorially symmetric cross-validation. Time is divided into
 * S blocks of equal length; the oldest returns that do not fill a block are excluded. Every selection of S/2 blocks
 * chooses the variant with the highest Sharpe ratio. Its rank among all variants is determined on the other blocks.
 * Equal ratios have the mean of their ranks; if several variants are best, the first is chosen. Returns undefined with
 * fewer than two variants or two returns per block.
 * @cost O(N T) for sums by block, then about 4 C(S, S/2) N
 * @source Bailey, Borwein, López de Prado and Zhu (2016), The probability of backtest overfitting, Journal of
 * Computational Finance 20(4), section 3.
 */
export function createOverfitting({
  variants,
  observations,
  partitions,
}: OverfittingInput): OverfittingEstimate | undefined {
  const block = Math.floor(observations / partitions);
  if (variants < 2 || block < 2) return undefined;
  const half = (block * partitions) / 2;
  const sums = {
    first: new Float64Array(variants * partitions),
    second: new Float64Array(variants * partitions),
    means: new Float64Array(variants),
    half,
    varianceMin: CONSTANT_VARIANCE,
  };
  return {
    add: (variant, returns) =>
      addBlocks(sums, { variant, returns: returns.subarray(returns.length - block * partitions), partitions, block }),
    end: (engine = referenceEngine) =>
      computeOverfitting(sums, { partitions, observations: block * partitions, engine }),
  };
}

function computeOverfitting(
  sums: BlockSums,
  { partitions, observations, engine }: { partitions: number; observations: number; engine: Engine },
): Overfitting {
  const variantCount = sums.means.length;
  const combinations = countHalves(partitions);
  const figures = new Float64Array(FIGURES_PER_CHOICE * combinations);
  engine.halvingChoices(sums, figures);
  const logits = new Float64Array(combinations);
  let low = 0;
  let losses = 0;
  for (let i = 0; i < combinations; i++) {
    const rank = figures[FIGURES_PER_CHOICE * i]! / (variantCount + 1);
    const logit = Math.log(rank / (1 - rank));
    logits[i] = logit;
    if (logit <= 0) low++;
    if (figures[FIGURES_PER_CHOICE * i + 1]! < 0) losses++;
  }
  return {
    probability: low / combinations,
    chanceLevel: computeChanceLevel(variantCount),
    probabilityOfLoss: losses / combinations,
    medianLogit: computeMedian(logits),
    combinations,
    partitions,
    observations,
  };
}

interface BlockRow {
  readonly variant: number;
  readonly returns: Float64Array;
  readonly partitions: number;
  readonly block: number;
}

function addBlocks({ first, second, means }: BlockSums, { variant, returns, partitions, block }: BlockRow): void {
  const variantCount = means.length;
  let total = 0;
  for (const value of returns) total += value;
  const mean = total / returns.length;
  means[variant] = mean;
  for (let s = 0; s < partitions; s++) {
    let sum = 0;
    let squares = 0;
    for (let t = s * block; t < (s + 1) * block; t++) {
      const d = returns[t]! - mean;
      sum += d;
      squares += d * d;
    }
    first[s * variantCount + variant] = sum;
    second[s * variantCount + variant] = squares;
  }
}

/** Comparison of a choice with a random one, from the best to the worst. */
export const OVERFITTING_RATINGS = ['better_than_chance', 'near_chance', 'overfit'] as const;
export type OverfittingRating = (typeof OVERFITTING_RATINGS)[number];

/**
 * Compares a choice with a random one. It is overfit above the chance level, and near chance at most one standard
 * deviation below it.
 */
export function rateOverfitting({
  probability,
  chanceLevel,
  combinations,
}: Pick<Overfitting, 'probability' | 'chanceLevel' | 'combinations'>): OverfittingRating {
  if (probability > chanceLevel) return 'overfit';
  const deviation = Math.sqrt((chanceLevel * (1 - chanceLevel)) / combinations);
  return probability > chanceLevel - deviation ? 'near_chance' : 'better_than_chance';
}
