import { assert } from '../assert.js';

/**
 * Number of terms that are added sequentially at the leaves of the tree. It is large enough to outweigh the cost of the
 * recursion, and small enough to keep the accuracy.
 */
const LEAF_TERMS = 128;

/**
 * Sums a range of values by pairwise halving, in an order that depends only on the length.
 *
 * @param values  Values; one that is not finite makes the sum not finite.
 * @param from    First position. Default: 0.
 * @param to      One past the last position. Default: the end.
 * @returns       Sum, 0 for an empty range; its error grows with the logarithm of the length.
 * @throws        KernelFault if the range is not within the values.
 * @cost          to - from additions; recursion depth log2(length).
 * @source        Higham (1993), The accuracy of floating point summation, SIAM J. Sci. Comput. 14(4), 783-799.
 */
export function computePairwiseSum(values: Float64Array, from = 0, to: number = values.length): number {
  assert(from >= 0 && from <= to && to <= values.length, `range: ${from} to ${to} of ${values.length} values`);
  return sumRange(values, from, to);
}

function sumRange(values: Float64Array, from: number, to: number): number {
  if (to - from > LEAF_TERMS) {
    const middle = from + LEAF_TERMS * Math.ceil((to - from) / (2 * LEAF_TERMS));
    return sumRange(values, from, middle) + sumRange(values, middle, to);
  }
  let total = 0;
  for (let i = from; i < to; i++) total += values[i]!;
  return total;
}
