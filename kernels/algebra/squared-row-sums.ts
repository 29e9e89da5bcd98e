import { assert } from '../assert.js';

/**
 * Sums the squares of the weighted row sums of a panel: w' X'X w.
 *
 * @param x        [rows x columns] row-major.
 * @param weights  [columns].
 * @returns        The sum over the rows of (sum_i x_ti w_i)^2.
 * @throws         KernelFault on a shape mismatch.
 * @cost           One pass over the panel.
 * @source         Definition. Each row is summed from first to last column and the squares from first to last row:
 *                 results are bit-identical on every engine.
 */
export function sumSquaredRowSums(x: Float64Array, weights: Float64Array): number {
  assertRowSums(x, weights);
  let total = 0;
  for (let row = 0; row < x.length; row += weights.length) {
    let sum = 0;
    for (let i = 0; i < weights.length; i++) sum += x[row + i]! * weights[i]!;
    total += sum * sum;
  }
  return total;
}

/** Checks the arguments and returns the number of rows of the panel. @throws KernelFault */
export function assertRowSums(x: Float64Array, weights: Float64Array): number {
  const rows = x.length / weights.length;
  assert(weights.length >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${weights.length} columns`);
  return rows;
}
