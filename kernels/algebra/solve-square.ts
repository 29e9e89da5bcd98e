/** Smallest pivot, relative to the largest entry, that is not a rounding error. */
const PIVOT_MIN = 1e-13;

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
    if (!(Math.abs(a[pivotRow * n + c]!) > PIVOT_MIN * largest)) return false;
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
