import { assert } from '../assert.js';

/**
 * Multiplies a symmetric matrix by a vector, y = A x, reading the upper triangle only.
 *
 * @param a    [n x n] row-major; the part below the diagonal is not read.
 * @param x    [n].
 * @param out  [n], overwritten; must not overlap `x`.
 * @returns    Nothing; the result is in `out`.
 * @throws     KernelFault on a shape mismatch.
 * @cost       n^2 multiply-adds, one pass over half of `a`; no scratch.
 * @source     Dongarra et al. (1988), An extended set of Fortran basic linear algebra subprograms, ACM TOMS 14(1),
 *             SYMV.
 */
export function symv(a: Float64Array, x: Float64Array, out: Float64Array): void {
  const n = x.length;
  assert(out.length === n, `out: ${out.length} values for ${n}`);
  assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
  out.fill(0);
  for (let i = 0; i < n; i++) out[i]! += addUpperRow(a, i, x, out);
}

/**
 * Adds row i, right of the diagonal, to the later outputs. Returns the product of row i, from its diagonal on, with
 * `x`.
 */
function addUpperRow(a: Float64Array, i: number, x: Float64Array, out: Float64Array): number {
  const n = x.length;
  const xi = x[i]!;
  let total = a[i * n + i]! * xi;
  for (let j = i + 1, position = i * n + i + 1; j < n; j++, position++) {
    const value = a[position]!;
    total += value * x[j]!;
    out[j]! += value * xi;
  }
  return total;
}
