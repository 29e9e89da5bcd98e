import type { computeSymmetricEigenvalues } from './symmetric-eigen.js';

/** Smallest and largest eigenvalue of a symmetric matrix. */
export interface EigenvalueRange {
  readonly smallest: number;
  readonly largest: number;
}

/**
 * Computes the smallest and the largest eigenvalue of a symmetric matrix from all eigenvalues.
 *
 * @param solve  Finds all eigenvalues, ascending.
 * @param a      [n x n] row-major, symmetric; not changed.
 * @param n      Order, at least 1.
 * @returns      Both eigenvalues, with rounding errors relative to the larger in magnitude; undefined if an entry is
 *               not finite.
 * @throws       KernelFault on a shape mismatch.
 * @cost         Cost of `solve`; an engine may skip the eigenvalues in between.
 * @source       Definition.
 */
export function findEigenvalueRange(
  solve: typeof computeSymmetricEigenvalues,
  a: Float64Array,
  n: number,
): EigenvalueRange | undefined {
  const values = new Float64Array(n);
  return solve(a, n, values) ? { smallest: values[0]!, largest: values[n - 1]! } : undefined;
}
