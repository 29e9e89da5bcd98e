import type { symmetricEigenvalues } from './symmetric-eigen.js';

/** The ends of the eigenvalues of a symmetric matrix, in its unit. */
export interface EigenvalueRange {
  readonly smallest: number;
  readonly largest: number;
}

/**
 * Smallest and largest eigenvalue of a symmetric matrix, by what finds all of them.
 *
 * @param solve  Finds all eigenvalues, ascending.
 * @param a      [n x n] row-major, symmetric; not changed.
 * @param n      Order, at least 1.
 * @returns      The two, to rounding of the larger in size; undefined for input that is not finite.
 * @throws       KernelFault on a shape mismatch.
 * @cost         That of `solve`; an engine may leave out what only the eigenvalues between them need.
 * @source       Definition.
 */
export function eigenvalueRangeBy(
  solve: typeof symmetricEigenvalues,
  a: Float64Array,
  n: number,
): EigenvalueRange | undefined {
  const values = new Float64Array(n);
  return solve(a, n, values) ? { smallest: values[0]!, largest: values[n - 1]! } : undefined;
}
