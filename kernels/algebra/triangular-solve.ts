import { assert } from '../assert.js';

/**
 * Solves L X = B for many right-hand sides, in place.
 *
 * @param l  [n x n] row-major, lower triangular with a nonzero diagonal; entries above the diagonal are not read.
 * @param n  Order.
 * @param b  [n x columns] row-major; becomes X.
 * @returns  Nothing; the solution is in `b`.
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
 * @returns  Nothing; the solution is in `b`.
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
