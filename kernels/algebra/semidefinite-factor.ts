import { assert } from '../assert.js';

/** A pivot below this share of its diagonal means that earlier columns explain the column. */
const DEPENDENT = 1e-10;

/** Cholesky factor of a matrix that may be singular. */
export interface SemidefiniteFactor {
  /**
   * [n x n] row-major, lower triangle; the row and column of a dependent security contain its part that the others
   * explain.
   */
  readonly lower: Float64Array;
  /** Columns that are not dependent. */
  readonly rank: number;
}

/**
 * Computes the Cholesky factor of a symmetric positive semi-definite matrix, A = L L' to rounding: a column that
 * earlier columns explain has pivot 0.
 *
 * @param a  [n x n] row-major; the lower triangle is read.
 * @param n  Order, at least 0.
 * @returns  The factor, in its own memory.
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
    if (!(pivot > DEPENDENT * a[i * n + i]!)) continue;
    lower[i * n + i] = Math.sqrt(pivot);
    rank++;
  }
  return { lower, rank };
}
