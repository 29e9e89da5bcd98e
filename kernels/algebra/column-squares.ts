import { assert } from '../assert.js';

/**
 * Sum of the squares of each column of a panel.
 *
 * @param x    [rows x columns] row-major.
 * @param out  [columns], overwritten.
 * @returns    Nothing; the sums are in `out`.
 * @throws     KernelFault on a shape mismatch.
 * @cost       One pass over the panel.
 * @source     Definition. Each column is summed first row to last, whatever stands beside it: every engine gives the
 *   same bits.
 */
export function columnSquares(x: Float64Array, out: Float64Array): void {
  const columns = out.length;
  assertColumns(x, out);
  out.fill(0);
  for (let row = 0; row < x.length; row += columns) {
    for (let i = 0; i < columns; i++) out[i]! += x[row + i]! * x[row + i]!;
  }
}

/** @returns the rows of a panel. @throws KernelFault */
export function assertColumns(x: Float64Array, out: Float64Array): number {
  const rows = x.length / out.length;
  assert(out.length >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${out.length} columns`);
  return rows;
}
