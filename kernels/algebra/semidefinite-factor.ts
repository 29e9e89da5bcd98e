import { assert } from '../assert.js';

/**
 * Minimum ratio of a pivot to the diagonal entry. If the ratio is smaller, the column is a linear combination of
 * earlier columns.
 */
const PIVOT_MIN = 1e-10;

/** Cholesky factor of a matrix that may be singular. */
export interface SemidefiniteFactor {
  /** Lower triangle, [n x n] row-major; row i contains the coefficients of column i on the independent columns. */
  readonly lower: Float64Array;
  /** Number of independent columns. */
  readonly rank: number;
}

/**
 * Computes the Cholesky factor of a symmetric positive semi-definite matrix, A = L L' to rounding: a column that
 * depends linearly on earlier columns has pivot 0.
 *
 * @param a  [n x n] row-major; the lower triangle is read.
 * @param n  Order, at least 0.
 * @returns  The factor in newly allocated memory.
 * @throws   KernelFault on a shape mismatch.
 * @cost     n^3 / 6 multiply-adds.
 * @source   Golub & Van Loan (2013), Matrix Computations, 4th ed., section 4.2.8, without pivoting.
 */
export function factoriseSemidefinite(a: Float64Array, n: number): SemidefiniteFactor {
  assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
  const lower = new Float64Array(n * n);
  let rank = 0;
  for (let i = 0; i < n; i++) {
    let pivot = a[i * n + i]!;
    for (let j = 0; j < i; j++) {
      const diagonal = lower[j * n + j]!;
      if (diagonal === 0) continue;
      let value = a[i * n + j]!;
      for (let k = 0; k < j; k++) value -= lower[i * n + k]! * lower[j * n + k]!;
      lower[i * n + j] = value / diagonal;
      pivot -= lower[i * n + j]! ** 2;
    }
    if (!(pivot > PIVOT_MIN * a[i * n + i]!)) continue;
    lower[i * n + i] = Math.sqrt(pivot);
    rank++;
  }
  return { lower, rank };
}
