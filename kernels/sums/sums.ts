import { assert } from '../assert.js';

/** Units of securities, and an amount of money. */
export interface HoldingValue {
  /** Columns of the securities in a row of the panel, ascending, at least [count]. */
  readonly columns: Int32Array;
  /** Units by position in `columns`, at least [count]. */
  readonly units: Float64Array;
  readonly count: number;
  readonly money: number;
}

/**
 * Computes the value of a holding in one session. The value is the money plus the sum of units times unit values.
 * @param panel    Unit value of each security, [sessions x securities].
 * @param row      Start of the row of the session.
 * @param holding  Holding.
 * @returns        Value. Four sums are accumulated side by side and added as a + b + (c + d). The first sum includes
 *                 the money and the securities that remain after groups of four.
 * @cost           count multiplications and additions.
 * @source         Definition; bit-identical on every engine.
 */
export function sumHoldingValue(
  panel: Float64Array,
  row: number,
  { columns, units, count, money }: HoldingValue,
): number {
  const fours = count & ~3;
  let a = money;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let k = 0; k < fours; k += 4) {
    a += units[k]! * panel[row + columns[k]!]!;
    b += units[k + 1]! * panel[row + columns[k + 1]!]!;
    c += units[k + 2]! * panel[row + columns[k + 2]!]!;
    d += units[k + 3]! * panel[row + columns[k + 3]!]!;
  }
  for (let k = fours; k < count; k++) a += units[k]! * panel[row + columns[k]!]!;
  return a + b + (c + d);
}

/** Securities with the positions of their weights. */
export interface PlacedHolding extends HoldingValue {
  /** Position of each security's weight in a row of weights, ascending, at least [count]. */
  readonly slots: Int32Array;
}

/** Row of weights of a holding with a known value. */
export interface WeightsRow {
  readonly value: number;
  /** Weights, and the start of the row in them. */
  readonly weights: Float64Array;
  readonly to: number;
}

/**
 * Writes the weights of a holding in one session: units times unit values, divided by the value. Other cells of the row
 * do not change.
 * @param panel    Unit value of each security, [sessions x securities].
 * @param row      Start of the row of the session.
 * @cost           count multiplications and divisions.
 * @source         Definition; bit-identical on every engine.
 */
export function writeHoldingWeights(
  panel: Float64Array,
  row: number,
  { columns, slots, units, count }: PlacedHolding,
  { value, weights, to }: WeightsRow,
): void {
  for (let k = 0; k < count; k++) weights[to + slots[k]!] = (units[k]! * panel[row + columns[k]!]!) / value;
}

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
