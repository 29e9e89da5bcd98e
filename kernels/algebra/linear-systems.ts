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

/** Smallest pivot, relative to the largest entry, that is not a rounding error. */
const SOLVE_SQUARE_PIVOT_MIN = 1e-13;

/**
 * Solves A x = b for several right-hand sides, in place, by Gaussian elimination with partial pivoting.
 *
 * @param a      [n x n] row-major, overwritten.
 * @param n      Order.
 * @param b      [n x sides] row-major, overwritten by the solutions.
 * @param sides  Number of right-hand sides.
 * @returns      False if A is singular to working precision.
 * @cost         n^3 / 3 + sides n^2 multiply-adds.
 * @source       Golub & Van Loan (2013), Matrix Computations, section 3.4.
 */
export function solveSquare(a: Float64Array, n: number, b: Float64Array, sides = 1): boolean {
  const largest = a.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  for (let c = 0; c < n; c++) {
    let pivotRow = c;
    for (let r = c + 1; r < n; r++) if (Math.abs(a[r * n + c]!) > Math.abs(a[pivotRow * n + c]!)) pivotRow = r;
    if (!(Math.abs(a[pivotRow * n + c]!) > SOLVE_SQUARE_PIVOT_MIN * largest)) return false;
    swapRows(a, n, c, pivotRow);
    swapRows(b, sides, c, pivotRow);
    for (let r = c + 1; r < n; r++) {
      const multiple = a[r * n + c]! / a[c * n + c]!;
      if (multiple === 0) continue;
      for (let k = c; k < n; k++) a[r * n + k]! -= multiple * a[c * n + k]!;
      for (let k = 0; k < sides; k++) b[r * sides + k]! -= multiple * b[c * sides + k]!;
    }
  }
  for (let r = n - 1; r >= 0; r--)
    for (let k = 0; k < sides; k++) {
      let total = b[r * sides + k]!;
      for (let c = r + 1; c < n; c++) total -= a[r * n + c]! * b[c * sides + k]!;
      b[r * sides + k] = total / a[r * n + r]!;
    }
  return true;
}

function swapRows(values: Float64Array, width: number, one: number, other: number): void {
  if (one === other) return;
  for (let k = 0; k < width; k++) {
    const leftValue = values[one * width + k]!;
    values[one * width + k] = values[other * width + k]!;
    values[other * width + k] = leftValue;
  }
}

/**
 * Solves L X = B for many right-hand sides, in place.
 *
 * @param l  [n x n] row-major, lower triangular with a nonzero diagonal; entries above the diagonal are not read.
 * @param n  Order.
 * @param b  [n x columns] row-major; becomes X.
 * @throws   KernelFault on a shape mismatch.
 * @cost     n^2 * columns / 2 multiply-adds; no scratch.
 * @source   Golub & Van Loan (2013), Matrix Computations, 4th ed., section 3.1.
 */
export function solveLower(l: Float64Array, n: number, b: Float64Array): void {
  const columns = countRightSides(l, n, b);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) addScaledRow(b, k * columns, -l[i * n + k]!, i * columns, columns);
    scaleRow(b, i * columns, 1 / l[i * n + i]!, columns);
  }
}

/**
 * Solves L' X = B for many right-hand sides, in place: the second step of a solve with a Cholesky factor.
 *
 * @param l  [n x n] row-major, lower triangular with a nonzero diagonal; entries above the diagonal are not read.
 * @param n  Order.
 * @param b  [n x columns] row-major; becomes X.
 * @throws   KernelFault on a shape mismatch.
 * @cost     n^2 * columns / 2 multiply-adds; no scratch.
 * @source   Golub & Van Loan (2013), Matrix Computations, 4th ed., section 3.1.
 */
export function solveLowerTransposed(l: Float64Array, n: number, b: Float64Array): void {
  const columns = countRightSides(l, n, b);
  for (let i = n - 1; i >= 0; i--) {
    scaleRow(b, i * columns, 1 / l[i * n + i]!, columns);
    for (let k = 0; k < i; k++) addScaledRow(b, i * columns, -l[i * n + k]!, k * columns, columns);
  }
}

/** Checks the arguments of every triangular solve and returns the number of right-hand sides. */
export function countRightSides(l: Float64Array, n: number, b: Float64Array): number {
  assert(l.length === n * n, `l: ${l.length} values for ${n} x ${n}`);
  const columns = n === 0 ? 0 : b.length / n;
  assert(Number.isInteger(columns), `b: ${b.length} values over ${n} rows`);
  return columns;
}

function addScaledRow(b: Float64Array, from: number, factor: number, to: number, columns: number): void {
  for (let j = 0; j < columns; j++) b[to + j]! += factor * b[from + j]!;
}

function scaleRow(b: Float64Array, row: number, factor: number, columns: number): void {
  for (let j = 0; j < columns; j++) b[row + j]! *= factor;
}
