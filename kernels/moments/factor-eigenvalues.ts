import type { EigenvalueRange } from '../algebra/eigenvalue-range.js';
import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';

/** Maximum number of bisection steps: all digits of a double. */
const HALVINGS = 60;

/** Width of a bracket, relative to its upper end, that is within rounding. */
const ROUNDING = 1e-15;

/**
 * Computes the smallest and the largest eigenvalue of loadings loadings' + diag(specific). The number of eigenvalues
 * below a value follows from a [factors x factors] matrix; the brackets of both eigenvalues are bisected.
 *
 * @param engine    Engine that multiplies.
 * @param loadings  [n x k] row-major.
 * @param specific  [n], n at least 1.
 * @returns         Both eigenvalues, with rounding errors relative to the largest.
 * @throws          KernelFault on a shape mismatch.
 * @cost            About 100 products of n k^2 / 2.
 * @source          Sylvester's law of inertia; Golub (1973), Some modified matrix eigenvalue problems, SIAM Review
 *                  15(2).
 */
export function boundFactorEigenvalues(
  engine: Engine,
  loadings: Float64Array,
  specific: Float64Array,
): EigenvalueRange {
  const n = specific.length;
  assert(n >= 1, 'specific: no names');
  const k = loadings.length / n;
  assert(Number.isInteger(k), `loadings: ${loadings.length} values over ${n} names`);
  const sortedSpecific = specific.toSorted();
  let sum = 0;
  for (const value of loadings) sum += value * value;
  const [least, most] = [sortedSpecific[0]!, sortedSpecific[n - 1]!];
  const countEigenvalues = (value: number) => countBelow(engine, loadings, specific, value);
  return {
    // With k factors, the smallest eigenvalue is at most the (k + 1)-th smallest specific variance.
    smallest: bisect(least, k < n ? sortedSpecific[k]! : most + sum, (value) => countEigenvalues(value) >= 1),
    largest: bisect(most, most + sum, (value) => countEigenvalues(value) === n),
  };
}

/**
 * Returns the smallest value in a range from which on a monotone condition holds, by bisection. The condition must hold
 * at `to`.
 */
function bisect(from: number, to: number, holds: (value: number) => boolean): number {
  let [low, high] = [from, to];
  for (let step = 0; step < HALVINGS && high - low > ROUNDING * Math.abs(high); step++) {
    const middle = low + (high - low) / 2;
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/**
 * Counts the eigenvalues below a value: the number of specific variances below it less the number of negative
 * eigenvalues of I + L' (D - value)^-1 L.
 */
function countBelow(engine: Engine, loadings: Float64Array, specific: Float64Array, value: number): number {
  const n = specific.length;
  const k = loadings.length / n;
  let count = 0;
  for (let i = 0; i < n; i++) if (specific[i]! < value) count++;
  return engine.scope(() => {
    const parts = engine.room(n * k);
    const inner = engine.room(k * k);
    for (let i = 0; i < n; i++) {
      const weight = 1 / (specific[i]! - value || Number.EPSILON * (Math.abs(value) || 1));
      for (let f = 0; f < k; f++) parts[i * k + f] = weight * loadings[i * k + f]!;
    }
    engine.gemm({ rows: k, inner: n, columns: k, transposeA: true }, loadings, parts, inner);
    for (let f = 0; f < k; f++) {
      inner[f * k + f]! += 1;
      // Products of two numbers in either order can differ in the last digit.
      for (let g = 0; g < f; g++) inner[f * k + g] = inner[g * k + f]!;
    }
    const values = engine.room(k);
    if (!engine.symmetricEigenvalues(inner, k, values))
      throw new Error('the loadings have entries that are not finite');
    return count - values.reduce((total, own) => total + (own < 0 ? 1 : 0), 0);
  });
}
