import { assert } from '../assert.js';
import { mirrorUpper } from './mirror-upper.js';

/**
 * Computes the product of a panel with itself, C = X'X: the sum of the outer products of its rows.
 *
 * @param x        [rows x columns] row-major.
 * @param columns  Number of columns of `x`, at least 1.
 * @param out      [columns x columns] row-major, overwritten; exactly symmetric.
 * @returns        Nothing; the result is in `out`. Each entry is summed from first to last row.
 * @throws         KernelFault on a shape mismatch.
 * @cost           rows * columns^2 / 2 multiply-adds; no scratch.
 * @source         Dongarra et al. (1990), A set of level 3 basic linear algebra subprograms, ACM TOMS 16(1), SYRK.
 */
export function computeSymmetricRankK(x: Float64Array, columns: number, out: Float64Array): void {
  const rows = x.length / columns;
  assert(columns >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${columns} columns`);
  assert(out.length === columns * columns, `out: ${out.length} values for ${columns} columns`);
  out.fill(0);
  for (let t = 0; t < rows; t++) addOuterUpper(x, t * columns, columns, out);
  mirrorUpper(out, columns);
}

/** Adds the outer product of one row of `x` to the upper triangle of `out`. */
function addOuterUpper(x: Float64Array, row: number, columns: number, out: Float64Array): void {
  for (let i = 0; i < columns; i++) {
    const factor = x[row + i]!;
    const offset = i * columns;
    for (let j = i; j < columns; j++) out[offset + j]! += factor * x[row + j]!;
  }
}
