import { assert } from '../assert.js';

/** Maximum number of QL iterations per eigenvalue. EISPACK allows 30; more than a handful is rare. */
const SWEEPS_MAX = 60;

/**
 * Smallest magnitude of an off-diagonal entry that is not treated as zero, for a matrix scaled to 1. The limit applies
 * even between diagonal entries of zero.
 */
const NEGLIGIBLE_ENTRY = 2 ** -900;

/**
 * Computes eigenvalues and eigenvectors of a symmetric matrix, by Householder tridiagonalisation and implicit QL.
 *
 * @param a        [n x n] row-major, symmetric; not changed.
 * @param n        Order, at least 0.
 * @param values   [n], overwritten with the eigenvalues in ascending order.
 * @param vectors  [n x n] row-major, overwritten: row k is the unit eigenvector of `values[k]`, with its largest entry
 *                 positive (the first one in a tie).
 * @returns        True if every eigenvalue converged; false only for input that is not finite.
 * @throws         KernelFault on a shape mismatch.
 * @cost           about 4/3 n^3 multiply-adds to tridiagonal form, as many to form Q, 3 n^3 for the rotations; scratch
 *                 n.
 * @source         Martin, Reinsch & Wilkinson (1968), Numerische Mathematik 11, 181-195 (tred2); Bowdler et al. (1968),
 *                 11, 293-306 (tql2).
 */
export function decomposeSymmetric(a: Float64Array, n: number, values: Float64Array, vectors: Float64Array): boolean {
  assertEigen(a, n, values);
  assert(vectors.length === n * n, `vectors: ${vectors.length} values for ${n} x ${n}`);
  const scale = computeScale(a);
  if (Number.isNaN(scale)) return (values.fill(scale), vectors.fill(scale), false);
  for (let k = 0; k < a.length; k++) vectors[k] = a[k]! * scale;
  const offDiagonal = new Float64Array(n);
  tridiagonalise(vectors, n, values, offDiagonal, true);
  const hasConverged = runQl(values, offDiagonal, n, vectors);
  sortPairs(values, vectors, n);
  for (let k = 0; k < n; k++) {
    values[k]! /= scale;
    orientRow(vectors, k * n, n);
  }
  return hasConverged;
}

/**
 * Computes the largest eigenvalues of a symmetric matrix and their eigenvectors.
 *
 * @param a        [n x n] row-major, symmetric; not changed.
 * @param n        Order, at least 0.
 * @param values   [count], overwritten with the largest eigenvalues in ascending order; count is at most n.
 * @param vectors  [count x n] row-major, overwritten: row k is the unit eigenvector of `values[k]`, oriented as in
 *                 `symmetricEigen`.
 * @returns        True if every eigenvalue converged; false only for input that is not finite.
 * @throws         KernelFault on a shape mismatch.
 * @cost           Cost of `symmetricEigen`; an engine may skip the other eigenvalues. Values and vectors are
 *                 bit-identical to those of `symmetricEigen` for any count.
 * @source         Definition.
 */
export function computeLargestEigen(a: Float64Array, n: number, values: Float64Array, vectors: Float64Array): boolean {
  return copyLargest(decomposeSymmetric, a, n, values, vectors);
}

/** Copies the largest eigenvalues and their eigenvectors from the result of a full `symmetricEigen`. */
export function copyLargest(
  solve: typeof decomposeSymmetric,
  a: Float64Array,
  n: number,
  values: Float64Array,
  vectors: Float64Array,
): boolean {
  const count = assertLargest(a, n, values, vectors);
  const allValues = new Float64Array(n);
  const allVectors = new Float64Array(n * n);
  const hasConverged = solve(a, n, allValues, allVectors);
  values.set(allValues.subarray(n - count));
  vectors.set(allVectors.subarray((n - count) * n));
  return hasConverged;
}

/** Checks the arguments and returns the number of requested eigenvalues. @throws KernelFault */
export function assertLargest(a: Float64Array, n: number, values: Float64Array, vectors: Float64Array): number {
  const count = values.length;
  assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
  assert(count <= n, `values: ${count} for order ${n}`);
  assert(vectors.length === count * n, `vectors: ${vectors.length} values for ${count} x ${n}`);
  return count;
}

/**
 * Computes the eigenvalues of a symmetric matrix, without eigenvectors.
 *
 * @param a       [n x n] row-major, symmetric; not changed.
 * @param n       Order, at least 0.
 * @param values  [n], overwritten with the eigenvalues in ascending order.
 * @returns       True if every eigenvalue converged; false only for input that is not finite.
 * @throws        KernelFault on a shape mismatch.
 * @cost          about 4/3 n^3 multiply-adds to tridiagonal form, then order n^2; scratch n^2.
 * @source        Martin, Reinsch & Wilkinson (1968), Numerische Mathematik 11, 181-195 (tred1); Bowdler et al. (1968),
 *                11, 293-306 (tql1).
 */
export function computeSymmetricEigenvalues(a: Float64Array, n: number, values: Float64Array): boolean {
  assertEigen(a, n, values);
  const scale = computeScale(a);
  if (Number.isNaN(scale)) return (values.fill(scale), false);
  const offDiagonal = new Float64Array(n);
  tridiagonalise(
    a.map((value) => value * scale),
    n,
    values,
    offDiagonal,
    false,
  );
  const hasConverged = runQl(values, offDiagonal, n, undefined);
  for (let k = 0; k < n; k++) values[k]! /= scale;
  values.sort();
  return hasConverged;
}

/** Checks the arguments of every symmetric eigenvalue computation. */
export function assertEigen(a: Float64Array, n: number, values: Float64Array): void {
  assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
  assert(values.length === n, `values: ${values.length} for order ${n}`);
}

/**
 * Returns the power of two that scales the largest entry near 1, to avoid overflow and underflow; NaN if an entry is
 * not finite.
 */
export function computeScale(a: Float64Array): number {
  let largest = 0;
  for (let k = 0; k < a.length; k++) {
    const magnitude = Math.abs(a[k]!);
    if (!(magnitude <= Number.MAX_VALUE)) return Number.NaN;
    if (magnitude > largest) largest = magnitude;
  }
  let scale = 1;
  for (; largest >= 2; largest *= 0.5) scale *= 0.5;
  for (; largest > 0 && largest < 1 && scale < 2 ** 1000; largest *= 2) scale *= 2;
  return scale;
}

/**
 * Reduces `a` to tridiagonal form: `diagonal` and `off` (off[i] couples i-1 and i, off[0] is 0). With `accumulate`, the
 * rows of `a` become the transformation Q' with A = Q T Q'; otherwise `a` is overwritten.
 */
function tridiagonalise(
  a: Float64Array,
  n: number,
  diagonal: Float64Array,
  off: Float64Array,
  accumulate: boolean,
): void {
  for (let i = n - 1; i > 0; i--) {
    const h = reflect(a, n, i, off);
    if (h !== 0) applyReflection(a, n, i, h, off);
    diagonal[i] = h;
  }
  if (n > 0) {
    diagonal[0] = 0;
    off[0] = 0;
  }
  for (let i = 0; i < n; i++) {
    if (accumulate) accumulateReflection(a, n, i, diagonal);
    else diagonal[i] = a[i * n + i]!;
  }
  if (accumulate) transpose(a, n);
}

/**
 * Computes the Householder vector of row i, left of the diagonal, in place. Returns half its squared norm, 0 if no
 * reflection is needed.
 */
function reflect(a: Float64Array, n: number, i: number, off: Float64Array): number {
  const row = i * n;
  let scale = 0;
  for (let k = 0; k < i - 1; k++) scale += Math.abs(a[row + k]!);
  if (scale === 0) {
    off[i] = a[row + i - 1]!;
    return 0;
  }
  scale += Math.abs(a[row + i - 1]!);
  let h = 0;
  for (let k = 0; k < i; k++) {
    a[row + k]! /= scale;
    h += a[row + k]! * a[row + k]!;
  }
  const f = a[row + i - 1]!;
  const g = f >= 0 ? -Math.sqrt(h) : Math.sqrt(h);
  off[i] = scale * g;
  a[row + i - 1] = f - g;
  return h - f * g;
}

/**
 * Computes A := P A P on the leading i x i block, with P = I - u u'/h and u in row i; stores u/h in column i for the
 * accumulation of Q.
 */
function applyReflection(a: Float64Array, n: number, i: number, h: number, off: Float64Array): void {
  const row = i * n;
  let correction = 0;
  for (let j = 0; j < i; j++) {
    a[j * n + i] = a[row + j]! / h;
    let g = 0;
    for (let k = 0; k <= j; k++) g += a[j * n + k]! * a[row + k]!;
    for (let k = j + 1; k < i; k++) g += a[k * n + j]! * a[row + k]!;
    off[j] = g / h;
    correction += off[j]! * a[row + j]!;
  }
  const half = correction / (h + h);
  for (let j = 0; j < i; j++) {
    const f = a[row + j]!;
    const g = off[j]! - half * f;
    off[j] = g;
    for (let k = 0; k <= j; k++) a[j * n + k]! -= f * off[k]! + g * a[row + k]!;
  }
}

function accumulateReflection(a: Float64Array, n: number, i: number, diagonal: Float64Array): void {
  const row = i * n;
  if (diagonal[i] !== 0) {
    for (let j = 0; j < i; j++) {
      let g = 0;
      for (let k = 0; k < i; k++) g += a[row + k]! * a[k * n + j]!;
      for (let k = 0; k < i; k++) a[k * n + j]! -= g * a[k * n + i]!;
    }
  }
  diagonal[i] = a[row + i]!;
  a[row + i] = 1;
  for (let j = 0; j < i; j++) a[j * n + i] = a[row + j] = 0;
}

/**
 * Runs implicit QL iterations on the tridiagonal matrix and applies their rotations to the rows of `vectors` if given.
 * Returns true if every eigenvalue converged.
 */
function runQl(diagonal: Float64Array, off: Float64Array, n: number, vectors: Float64Array | undefined): boolean {
  off.copyWithin(0, 1);
  if (n > 0) off[n - 1] = 0;
  for (let l = 0; l < n; l++) {
    for (let sweep = 0; ; sweep++) {
      const m = findFirstNegligible(diagonal, off, n, l);
      if (m === l) break;
      if (sweep === SWEEPS_MAX) return false;
      runQlSweep(diagonal, off, n, l, m, vectors);
    }
  }
  return true;
}

/**
 * Returns the first index from l on whose off-diagonal entry is zero to working precision relative to its neighbours.
 */
function findFirstNegligible(diagonal: Float64Array, off: Float64Array, n: number, l: number): number {
  let m = l;
  while (
    m < n - 1 &&
    Math.abs(off[m]!) > Number.EPSILON * (Math.abs(diagonal[m]!) + Math.abs(diagonal[m + 1]!)) + NEGLIGIBLE_ENTRY
  )
    m++;
  return m;
}

function runQlSweep(
  d: Float64Array,
  e: Float64Array,
  n: number,
  l: number,
  m: number,
  vectors: Float64Array | undefined,
): void {
  let g = (d[l + 1]! - d[l]!) / (2 * e[l]!);
  let r = computeHypotenuse(g, 1);
  g = d[m]! - d[l]! + e[l]! / (g + (g >= 0 ? r : -r));
  let s = 1;
  let c = 1;
  let p = 0;
  let i = m - 1;
  for (; i >= l; i--) {
    const f = s * e[i]!;
    const b = c * e[i]!;
    r = computeHypotenuse(f, g);
    e[i + 1] = r;
    if (r === 0) {
      d[i + 1]! -= p;
      e[m] = 0;
      break;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1]! - p;
    r = (d[i]! - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    if (vectors !== undefined) rotateRows(vectors, i * n, n, c, s);
  }
  if (r === 0 && i >= l) return;
  d[l]! -= p;
  e[l] = g;
  e[m] = 0;
}

function rotateRows(vectors: Float64Array, row: number, n: number, c: number, s: number): void {
  for (let k = row; k < row + n; k++) {
    const f = vectors[k + n]!;
    vectors[k + n] = s * vectors[k]! + c * f;
    vectors[k] = c * vectors[k]! - s * f;
  }
}

/**
 * Returns sqrt(x^2 + y^2) without overflow. It uses only operations that every engine rounds identically, because the
 * standard does not define the exact result of Math.hypot.
 */
function computeHypotenuse(x: number, y: number): number {
  const larger = Math.max(Math.abs(x), Math.abs(y));
  if (larger === 0 || !Number.isFinite(larger)) return larger;
  const ratio = Math.min(Math.abs(x), Math.abs(y)) / larger;
  return larger * Math.sqrt(1 + ratio * ratio);
}

function sortPairs(values: Float64Array, vectors: Float64Array, n: number): void {
  const order = Array.from({ length: n }, (_, k) => k).sort((p, q) => values[p]! - values[q]!);
  const sortedValues = Float64Array.from(order, (k) => values[k]!);
  const sortedVectors = new Float64Array(n * n);
  order.forEach((from, to) => sortedVectors.set(vectors.subarray(from * n, from * n + n), to * n));
  values.set(sortedValues);
  vectors.set(sortedVectors);
}

/**
 * Flips the sign of an eigenvector if its largest entry is negative. The algorithm determines an eigenvector only up to
 * its sign.
 */
export function orientRow(vectors: Float64Array, row: number, n: number): void {
  let largest = 0;
  for (let k = row; k < row + n; k++) if (Math.abs(vectors[k]!) > Math.abs(largest)) largest = vectors[k]!;
  if (largest < 0) for (let k = row; k < row + n; k++) vectors[k] = -vectors[k]!;
}

function transpose(a: Float64Array, n: number): void {
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      const value = a[i * n + j]!;
      a[i * n + j] = a[j * n + i]!;
      a[j * n + i] = value;
    }
  }
}

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
