import { assert } from '../assert.js';

/**
 * Computes the Cholesky factor of a symmetric positive definite matrix, A = L L', in place.
 *
 * @param a  [n x n] row-major; the lower triangle is read and becomes L. Entries above the diagonal are neither read
 *           nor written.
 * @param n  Order, at least 0.
 * @returns  n when the factor is complete, else the first column whose pivot is not positive: the matrix is not
 *           positive definite.
 * @throws   KernelFault on a shape mismatch.
 * @cost     n^3 / 6 multiply-adds, n square roots; no scratch.
 * @source   Golub & Van Loan (2013), Matrix Computations, 4th ed., section 4.2.
 */
export function factorCholesky(a: Float64Array, n: number): number {
  assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) a[i * n + j] = (a[i * n + j]! - multiplyRows(a, i * n, j * n, j)) / a[j * n + j]!;
    const pivot = a[i * n + i]! - multiplyRows(a, i * n, i * n, i);
    if (!(pivot > 0)) return i;
    a[i * n + i] = Math.sqrt(pivot);
  }
  return n;
}

function multiplyRows(a: Float64Array, left: number, right: number, length: number): number {
  let total = 0;
  for (let k = 0; k < length; k++) total += a[left + k]! * a[right + k]!;
  return total;
}
