import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { FIGURES_PER_CHOICE, countHalves, type BlockSums } from '#kernels/sums/halving-choices.js';
import { CONSTANT_VARIANCE } from '../numbers/constant.js';
import { computeMedian } from '../numbers/order-statistics.js';

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
  /** Number of returns per variant. */
  readonly observations: number;
}

export interface OverfittingInput {
  /** Returns on the common dates of all variants, [N x T]. */
  readonly returns: Float64Array;
  readonly variants: number;
  readonly observations: number;
  /** Number of blocks, even and at least 2. */
  readonly partitions: number;
  /** Engine that evaluates the choices. Default: plain loops. */
  readonly engine?: Engine;
}

/**
 * Returns the probability that a random choice among variants is at or below their median. It is above one half for an
 * odd number, whose middle variant is the median.
 */
const computeChanceLevel = (variants: number): number => Math.ceil(variants / 2) / variants;

/**
 * Computes the probability of backtest overfitting by combinatorially symmetric cross-validation. Time is divided into
 * S blocks of equal length; the oldest returns that do not fill a block are excluded. Every selection of S/2 blocks
 * chooses the variant with the highest Sharpe ratio. Its rank among all variants is determined on the other blocks.
 * Equal ratios have the mean of their ranks; if several variants are best, the first is chosen. Undefined with fewer
 * than two variants or two returns per block.
 * @cost O(N T) for sums by block, then about 4 C(S, S/2) N
 * @source Bailey, Borwein, López de Prado and Zhu (2016), The probability of backtest overfitting, Journal of
 * Computational Finance 20(4), section 3.
 */
export function estimateOverfitting({
  returns,
  variants,
  observations,
  partitions,
  engine,
}: OverfittingInput): Overfitting | undefined {
  const estimate = createOverfitting({ variants, observations, partitions });
  if (estimate === undefined) return undefined;
  for (let n = 0; n < variants; n++) estimate.add(n, returns.subarray(n * observations, (n + 1) * observations));
  return estimate.end(engine);
}

/** Estimate for variants whose returns are added one variant at a time. It keeps only sums by block. */
export interface OverfittingEstimate {
  /** Adds a variant. @param returns [T], each variant once */
  add(variant: number, returns: Float64Array): void;
  /** Computes the estimate. @param engine engine that evaluates the choices. Default: plain loops. */
  end(engine?: Engine): Overfitting;
}

/** Creates an empty estimate. Returns undefined with fewer than two variants or two returns per block. */
export function createOverfitting({
  variants,
  observations,
  partitions,
}: Omit<OverfittingInput, 'returns' | 'engine'>): OverfittingEstimate | undefined {
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
  /** Number of returns over all blocks. */
  readonly returns: Float64Array;
  readonly partitions: number;
  /** Number of returns in a block. */
  readonly block: number;
}

/** Adds the sums by block of the returns of a variant, less their mean over all blocks. */
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
