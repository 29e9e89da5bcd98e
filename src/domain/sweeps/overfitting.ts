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
 * @cost O(N T) for sums by block, then some 4 C(S, S/2) N
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
  const ratios = [new Float64Array(variants), new Float64Array(variants)] as const;
  const logits: number[] = [];
  const combinations = choicesCount(partitions);
  let low = 0;
  let losses = 0;
  const choose = (inside: Float64Array, outside: Float64Array): void => {
    if (tick && logits.length % TICK_COMBINATIONS === 0) tick(logits.length / combinations);
    const chosen = best(inside);
    const rank = rankOf(outside, chosen) / (variants + 1);
    const logit = Math.log(rank / (1 - rank));
    logits.push(logit);
    if (logit <= 0) low++;
    if (outside[chosen]! < 0) losses++;
  };
  eachHalving(sums, { variants, partitions }, (one, other) => {
    sharpesOf(one, { means: sums.means, half, into: ratios[0] });
    sharpesOf(other, { means: sums.means, half, into: ratios[1] });
    choose(ratios[0], ratios[1]);
    choose(ratios[1], ratios[0]);
  });
  return {
    probability: low / combinations,
    probabilityOfLoss: losses / combinations,
    medianLogit: median(Float64Array.from(logits)),
    combinations,
    partitions,
    observations: block * partitions,
  };
}

/** Choices of half of the blocks. */
function choicesCount(partitions: number): number {
  let count = 1;
  for (let k = 1; k <= partitions / 2; k++) count = (count * (partitions / 2 + k)) / k;
  return count;
}

/** Sums of returns less the variant's mean, so that sums of squares lose nothing by subtraction, and of their squares. */
interface PartSums {
  readonly first: Float64Array;
  readonly second: Float64Array;
}

/** By block, [S x N]. */
interface Sums extends PartSums {
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
      first[s * variants + n] = sum;
      second[s * variants + n] = squares;
    }
  }
  return { first, second, means };
}

/**
 * Every division of the blocks into halves, with the sums over either. A block after the other, in order of time, goes to one
 * of the two: divisions that begin alike share their sums, and those of a half are what adding its blocks gives.
 */
function eachHalving(
  sums: Sums,
  { variants, partitions }: Pick<OverfittingInput, 'variants' | 'partitions'>,
  visit: (one: PartSums, other: PartSums) => void,
): void {
  const size = partitions / 2;
  const byCount = (): PartSums[] =>
    Array.from({ length: size + 1 }, () => ({
      first: new Float64Array(variants),
      second: new Float64Array(variants),
    }));
  const [one, other] = [byCount(), byCount()];
  const place = (block: number, inOne: number, inOther: number): void => {
    if (block === partitions) return visit(one[size]!, other[size]!);
    if (inOne < size) {
      addBlock(sums, block, { to: one[inOne]!, into: one[inOne + 1]! });
      place(block + 1, inOne + 1, inOther);
    }
    // The first block is in the first half: the other way round it is the same division.
    if (block > 0 && inOther < size) {
      addBlock(sums, block, { to: other[inOther]!, into: other[inOther + 1]! });
      place(block + 1, inOne, inOther + 1);
    }
  };
  place(0, 0, 0);
}

function addBlock(
  { first, second }: Sums,
  block: number,
  { to, into }: { readonly to: PartSums; readonly into: PartSums },
): void {
  addRow(first, block, to.first, into.first);
  addRow(second, block, to.second, into.second);
}

function addRow(rows: Float64Array, row: number, to: Float64Array, into: Float64Array): void {
  const from = row * to.length;
  for (let n = 0; n < to.length; n++) into[n] = to[n]! + rows[from + n]!;
}

interface SharpeInput extends Pick<Sums, 'means'> {
  /** Returns in half of the blocks. */
  readonly half: number;
  readonly into: Float64Array;
}

/** Sharpe ratio of every variant over some blocks. */
function sharpesOf({ first, second }: PartSums, { means, half, into }: SharpeInput): void {
  for (let n = 0; n < into.length; n++) {
    const sum = first[n]!;
    const variance = (second[n]! - (sum * sum) / half) / (half - 1);
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
  for (let n = 0; n < values.length; n++) {
    if (values[n]! < value) below++;
    else if (values[n] === value) equal++;
  }
  return below + (equal + 1) / 2;
}

function median(values: Float64Array): number {
  const sorted = values.toSorted();
  const middle = sorted.length / 2;
  return Number.isInteger(middle) ? (sorted[middle - 1]! + sorted[middle]!) / 2 : sorted[Math.floor(middle)]!;
}
