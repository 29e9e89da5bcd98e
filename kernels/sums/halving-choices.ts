import { assert } from '../assert.js';

/** Moments of the returns of several variants by block: S blocks, N variants. */
export interface BlockSums {
  /** Sum per block of the differences between the returns and the mean of the variant, [S x N]. */
  readonly first: Float64Array;
  /** Sum per block of the squares of these differences, [S x N]. */
  readonly second: Float64Array;
  /** Means of the variants, [N]. */
  readonly means: Float64Array;
  /** Number of returns in half of the blocks. */
  readonly half: number;
  /** Maximum variance that counts as zero; the Sharpe ratio is then 0. */
  readonly varianceMin: number;
}

/** Number of figures per choice: rank and Sharpe ratio of the chosen variant on the other half. */
export const FIGURES_PER_CHOICE = 2;
/** Maximum number of blocks; 16 blocks have 12,870 halves. */
export const BLOCKS_MAX = 16;

/** Returns the number of ways to choose half of the blocks. */
export function countHalves(blocks: number): number {
  let count = 1;
  for (let k = 1; k <= blocks / 2; k++) count = (count * (blocks / 2 + k)) / k;
  return count;
}

/**
 * Chooses the variant with the highest Sharpe ratio on each half of the blocks. Computes its rank and its ratio on the
 * other half. In a tie, the first variant is chosen.
 * @param sums  Moments of an even number of blocks, at most `BLOCKS_MAX`, in order of time.
 * @param out   [halves x 2], overwritten with two figures per choice: its rank on the other half (1 for the lowest;
 *              ties share the mean of their ranks) and its ratio there. Each division of the blocks gives two choices,
 *              first the one on the half that contains the first block. Divisions that agree up to a block are ordered
 *              by it: first those with the block in this half.
 * @throws      KernelFault on a shape mismatch.
 * @cost        About 4 C(S, S/2) N: 13 million ratios for 1,000 variants over 16 blocks.
 * @source      Definition. Bit-identical on every engine: the sums of a half are computed by adding its blocks in
 *              order.
 */
export function computeHalvingChoices(sums: BlockSums, out: Float64Array): void {
  const blocks = assertHalving(sums, out);
  const { first, second, means } = sums;
  const size = blocks / 2;
  const variants = means.length;
  const sumByCount = (): HalfSums[] =>
    Array.from({ length: size + 1 }, () => ({
      first: new Float64Array(variants),
      second: new Float64Array(variants),
    }));
  const [halfSums, otherHalfSums] = [sumByCount(), sumByCount()];
  const ratios = [new Float64Array(variants), new Float64Array(variants)] as const;
  let position = 0;
  const chooseHalf = (inside: Float64Array, outside: Float64Array): void => {
    const bestVariant = findBest(inside);
    out[position++] = computeRank(outside, bestVariant);
    out[position++] = outside[bestVariant]!;
  };
  const add = (block: number, to: HalfSums, into: HalfSums): void => {
    addRow(first, block, to.first, into.first);
    addRow(second, block, to.second, into.second);
  };
  const placeBlock = (block: number, inOne: number, inOther: number): void => {
    if (block === blocks) {
      computeSharpeRatios(halfSums[size]!, sums, ratios[0]);
      computeSharpeRatios(otherHalfSums[size]!, sums, ratios[1]);
      chooseHalf(ratios[0], ratios[1]);
      chooseHalf(ratios[1], ratios[0]);
      return;
    }
    if (inOne < size) {
      add(block, halfSums[inOne]!, halfSums[inOne + 1]!);
      placeBlock(block + 1, inOne + 1, inOther);
    }
    // The first block always stays in the first half, because exchanging the halves gives the same division.
    if (block > 0 && inOther < size) {
      add(block, otherHalfSums[inOther]!, otherHalfSums[inOther + 1]!);
      placeBlock(block + 1, inOne, inOther + 1);
    }
  };
  placeBlock(0, 0, 0);
}

/** Checks the shapes and returns the number of blocks. @throws KernelFault */
export function assertHalving({ first, second, means }: BlockSums, out: Float64Array): number {
  const blocks = first.length / means.length;
  assert(means.length > 0 && second.length === first.length, `${second.length} squares of ${first.length} sums`);
  assert(blocks >= 2 && blocks <= BLOCKS_MAX && blocks % 2 === 0, `${blocks} blocks: an even number to ${BLOCKS_MAX}`);
  assert(out.length === FIGURES_PER_CHOICE * countHalves(blocks), `out: ${out.length} figures of ${blocks} blocks`);
  return blocks;
}

interface HalfSums {
  readonly first: Float64Array;
  readonly second: Float64Array;
}

function addRow(rows: Float64Array, row: number, to: Float64Array, into: Float64Array): void {
  const from = row * to.length;
  for (let n = 0; n < to.length; n++) into[n] = to[n]! + rows[from + n]!;
}

function computeSharpeRatios(
  { first, second }: HalfSums,
  { means, half, varianceMin }: BlockSums,
  into: Float64Array,
): void {
  for (let n = 0; n < into.length; n++) {
    const sum = first[n]!;
    const variance = (second[n]! - (sum * sum) / half) / (half - 1);
    into[n] = variance > varianceMin ? (means[n]! + sum / half) / Math.sqrt(variance) : 0;
  }
}

function findBest(values: Float64Array): number {
  let position = 0;
  for (let n = 1; n < values.length; n++) if (values[n]! > values[position]!) position = n;
  return position;
}

/** Returns the rank of a value, 1 for the lowest; equal values share the mean of their ranks. */
function computeRank(values: Float64Array, position: number): number {
  const value = values[position]!;
  let countBelow = 0;
  let countEqual = 0;
  for (let n = 0; n < values.length; n++) {
    if (values[n]! < value) countBelow++;
    else if (values[n] === value) countEqual++;
  }
  return countBelow + (countEqual + 1) / 2;
}
