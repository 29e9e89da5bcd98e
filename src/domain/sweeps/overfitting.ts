import { choicesOf } from './splits.js';
import { VARIANCE_MIN } from './stretch.js';

/** What symmetric cross-validation says of choosing the best of several variants by their Sharpe ratio. */
export interface Overfitting {
  /** Share of the selections whose choice does no better than the median out of sample. */
  readonly probability: number;
  /** Share of the selections whose choice loses out of sample. */
  readonly probabilityOfLoss: number;
  /** Median over the selections of the logit of the choice's relative rank out of sample. */
  readonly medianLogit: number;
  /** Selections: halves of the blocks. */
  readonly combinations: number;
  readonly partitions: number;
  /** Returns of each variant that take part. */
  readonly observations: number;
}

export interface OverfittingInput {
  /** Returns, [N x T], on dates that all variants have. */
  readonly returns: Float64Array;
  readonly variants: number;
  readonly observations: number;
  /** Even, at least 2. */
  readonly partitions: number;
  /** Called now and then; stops the work by throwing. */
  readonly tick?: (fraction: number) => void;
}

/** Combinations between two looks at the cancel flag. */
const TICK_COMBINATIONS = 64;

/**
 * Probability of backtest overfitting by combinatorially symmetric cross-validation: time is cut into S blocks of equal
 * length (the oldest returns that do not fill one are left out), every S/2 of them choose the variant with the highest
 * Sharpe ratio, and its rank among all variants is taken on the others. Ranks of equal ratios are averaged; of several
 * best the first is chosen. Undefined with fewer than two variants or two returns a block.
 * @cost O(N T) for sums by block, then C(S, S/2) N S / 2
 * @source Bailey, Borwein, López de Prado and Zhu (2016), The probability of backtest overfitting, Journal of
 *   Computational Finance 20(4), section 3.
 */
export function overfitting({
  returns,
  variants,
  observations,
  partitions,
  tick,
}: OverfittingInput): Overfitting | undefined {
  const block = Math.floor(observations / partitions);
  if (variants < 2 || block < 2) return undefined;
  const sums = blockSums({ returns, variants, observations, partitions, block });
  const half = (block * partitions) / 2;
  const inside = new Float64Array(variants);
  const outside = new Float64Array(variants);
  const all = choicesOf(partitions, partitions / 2);
  const logits = new Float64Array(all.length);
  let low = 0;
  let losses = 0;
  all.forEach((mask, c) => {
    if (tick && c % TICK_COMBINATIONS === 0) tick(c / all.length);
    sharpesOf(sums, { variants, partitions, half, mask, into: inside });
    sharpesOf(sums, { variants, partitions, half, mask: ~mask, into: outside });
    const chosen = best(inside);
    const rank = rankOf(outside, chosen) / (variants + 1);
    logits[c] = Math.log(rank / (1 - rank));
    if (logits[c]! <= 0) low++;
    if (outside[chosen]! < 0) losses++;
  });
  return {
    probability: low / all.length,
    probabilityOfLoss: losses / all.length,
    medianLogit: median(logits),
    combinations: all.length,
    partitions,
    observations: block * partitions,
  };
}

interface Sums {
  /** Of returns less the variant's mean, so that sums of squares lose nothing by subtraction, [N x S]. */
  readonly first: Float64Array;
  /** Of their squares, [N x S]. */
  readonly second: Float64Array;
  /** [N] */
  readonly means: Float64Array;
}

/** Sums by variant and block of returns less the variant's mean over all blocks. */
function blockSums({
  returns,
  variants,
  observations,
  partitions,
  block,
}: Omit<OverfittingInput, 'tick'> & { readonly block: number }): Sums {
  const first = new Float64Array(variants * partitions);
  const second = new Float64Array(variants * partitions);
  const means = new Float64Array(variants);
  const from = observations - block * partitions;
  for (let n = 0; n < variants; n++) {
    const row = returns.subarray(n * observations + from, (n + 1) * observations);
    let total = 0;
    for (const value of row) total += value;
    const mean = total / row.length;
    means[n] = mean;
    for (let s = 0; s < partitions; s++) {
      let sum = 0;
      let squares = 0;
      for (let t = s * block; t < (s + 1) * block; t++) {
        const d = row[t]! - mean;
        sum += d;
        squares += d * d;
      }
      first[n * partitions + s] = sum;
      second[n * partitions + s] = squares;
    }
  }
  return { first, second, means };
}

interface SharpeInput {
  readonly variants: number;
  readonly partitions: number;
  /** Returns in half of the blocks. */
  readonly half: number;
  /** A bit for each block that takes part. */
  readonly mask: number;
  readonly into: Float64Array;
}

/** Sharpe ratio of every variant over the blocks of a mask. */
function sharpesOf({ first, second, means }: Sums, { variants, partitions, half, mask, into }: SharpeInput): void {
  for (let n = 0; n < variants; n++) {
    let sum = 0;
    let squares = 0;
    for (let s = 0; s < partitions; s++) {
      if ((mask & (1 << s)) === 0) continue;
      sum += first[n * partitions + s]!;
      squares += second[n * partitions + s]!;
    }
    const variance = (squares - (sum * sum) / half) / (half - 1);
    into[n] = variance > VARIANCE_MIN ? (means[n]! + sum / half) / Math.sqrt(variance) : 0;
  }
}

function best(values: Float64Array): number {
  let at = 0;
  for (let n = 1; n < values.length; n++) if (values[n]! > values[at]!) at = n;
  return at;
}

/** Rank from 1 for the lowest; the mean of the ranks that equal values share. */
function rankOf(values: Float64Array, at: number): number {
  const value = values[at]!;
  let below = 0;
  let equal = 0;
  for (const other of values) {
    if (other < value) below++;
    else if (other === value) equal++;
  }
  return below + (equal + 1) / 2;
}

function median(values: Float64Array): number {
  const sorted = values.toSorted();
  const middle = sorted.length / 2;
  return Number.isInteger(middle) ? (sorted[middle - 1]! + sorted[middle]!) / 2 : sorted[Math.floor(middle)]!;
}
