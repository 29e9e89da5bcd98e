import { assert } from '../assert.js';

/**
 * Multiplies a matrix by a vector, y = A x.
 *
 * @param a    [rows x columns] row-major; rows and columns are the lengths of `out` and `x`.
 * @param x    [columns].
 * @param out  [rows], overwritten; must not overlap `x`.
 * @returns    Nothing; the result is in `out`.
 * @throws     KernelFault on a shape mismatch.
 * @cost       rows * columns multiply-adds, one pass over `a`; no scratch.
 * @source     Dongarra et al. (1988), An extended set of Fortran basic linear algebra subprograms, ACM TOMS 14(1),
 *             GEMV.
 */
export function gemv(a: Float64Array, x: Float64Array, out: Float64Array): void {
  const columns = x.length;
  assert(a.length === out.length * columns, `a: ${a.length} values for ${out.length} x ${columns}`);
  for (let i = 0; i < out.length; i++) out[i] = multiplyRow(a, i * columns, x);
}

/**
 * Multiplies a transposed matrix by a vector, y = A' x.
 *
 * @param a    [rows x columns] row-major; rows and columns are the lengths of `x` and `out`.
 * @param x    [rows].
 * @param out  [columns], overwritten; must not overlap `x`.
 * @returns    Nothing; the result is in `out`.
 * @throws     KernelFault on a shape mismatch.
 * @cost       rows * columns multiply-adds, one pass over `a`; no scratch.
 * @source     Dongarra et al. (1988), An extended set of Fortran basic linear algebra subprograms, ACM TOMS 14(1),
 *             GEMV.
 */
export function gemvTransposed(a: Float64Array, x: Float64Array, out: Float64Array): void {
  const columns = out.length;
  assert(a.length === x.length * columns, `a: ${a.length} values for ${x.length} x ${columns}`);
  out.fill(0);
  for (let t = 0; t < x.length; t++) addScaledRow(a, t * columns, x[t]!, out);
}

function multiplyRow(a: Float64Array, row: number, x: Float64Array): number {
  let total = 0;
  for (let j = 0; j < x.length; j++) total += a[row + j]! * x[j]!;
  return total;
}

function addScaledRow(a: Float64Array, row: number, factor: number, out: Float64Array): void {
  for (let j = 0; j < out.length; j++) out[j]! += factor * a[row + j]!;
}
