import { factorCholesky, solveLower, solveLowerTransposed } from '../../algebra/linear-systems.js';
import { computeSymmetricRankK, symv } from '../../algebra/products.js';
import { decomposeSymmetric } from '../../algebra/symmetric-eigen.js';

/**
 * Dense operations that dominate the cost of the solvers; every engine implements them. Definitions: kernels/algebra.
 */
export interface DenseAlgebra {
  cholesky(a: Float64Array, n: number): number;
  solveLower(l: Float64Array, n: number, b: Float64Array): void;
  solveLowerTransposed(l: Float64Array, n: number, b: Float64Array): void;
  symmetricRankK(x: Float64Array, columns: number, out: Float64Array): void;
  symv(a: Float64Array, x: Float64Array, out: Float64Array): void;
  symmetricEigen(a: Float64Array, n: number, values: Float64Array, vectors: Float64Array): boolean;
  /**
   * Returns memory that kernels use without a copy, with arbitrary contents. It is valid until the enclosing scope
   * ends.
   */
  room(length: number): Float64Array;
  scope<T>(work: () => T): T;
}

/** Plain definitions of the operations: the reference, slow for more than a few hundred securities. */
export const plainAlgebra: DenseAlgebra = {
  cholesky: factorCholesky,
  solveLower,
  solveLowerTransposed,
  symmetricRankK: computeSymmetricRankK,
  symv,
  symmetricEigen: decomposeSymmetric,
  room: (length) => new Float64Array(length),
  scope: (work) => work(),
};

/** Order of a lower triangular factor, and the distance between its rows in memory. */
export interface FactorShape {
  readonly n: number;
  readonly stride: number;
}

/**
 * Computes b := L^-1 b. For four rows at a time, which share reads, two sums are computed side by side. Each sum adds
 * its terms in its own order.
 * @param l rows of `stride` values, of which row i uses the first i + 1
 * @cost n^2 / 2
 * @source Golub and Van Loan, Matrix Computations, 4th edition, section 3.1: triangular systems
 */
export function solveForward(l: Float64Array, b: Float64Array, { n, stride }: FactorShape): void {
  let i = 0;
  for (; i + 3 < n; i += 4) {
    const [p, q, r, s] = [i * stride, (i + 1) * stride, (i + 2) * stride, (i + 3) * stride];
    let [pa, qa, ra, sa] = [b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!];
    let [pb, qb, rb, sb] = [0, 0, 0, 0];
    for (let j = 0; j < i; j += 2) {
      const x = b[j]!;
      const y = b[j + 1]!;
      pa -= l[p + j]! * x;
      pb -= l[p + j + 1]! * y;
      qa -= l[q + j]! * x;
      qb -= l[q + j + 1]! * y;
      ra -= l[r + j]! * x;
      rb -= l[r + j + 1]! * y;
      sa -= l[s + j]! * x;
      sb -= l[s + j + 1]! * y;
    }
    const w = (pa + pb) / l[p + i]!;
    const x = (qa - l[q + i]! * w + qb) / l[q + i + 1]!;
    const y = (ra - l[r + i]! * w + (rb - l[r + i + 1]! * x)) / l[r + i + 2]!;
    b[i] = w;
    b[i + 1] = x;
    b[i + 2] = y;
    b[i + 3] = (sa - l[s + i]! * w - l[s + i + 2]! * y + (sb - l[s + i + 1]! * x)) / l[s + i + 3]!;
  }
  for (; i < n; i++) solveForwardRow(l, b, i, i * stride);
}

function solveForwardRow(l: Float64Array, b: Float64Array, i: number, row: number): void {
  let first = b[i]!;
  let second = 0;
  let j = 0;
  for (; j + 1 < i; j += 2) {
    first -= l[row + j]! * b[j]!;
    second -= l[row + j + 1]! * b[j + 1]!;
  }
  if (j < i) first -= l[row + j]! * b[j]!;
  b[i] = (first + second) / l[row + i]!;
}

/** Computes b := L'^-1 b, four rows per pass over b, in order. @param l as in `solveForward` @cost n^2 / 2 */
export function solveBackward(l: Float64Array, b: Float64Array, { n, stride }: FactorShape): void {
  let i = n - 1;
  for (; i >= 3; i -= 4) {
    const [p, q, r, s] = [i * stride, (i - 1) * stride, (i - 2) * stride, (i - 3) * stride];
    const w = b[i]! / l[p + i]!;
    const x = (b[i - 1]! - l[p + i - 1]! * w) / l[q + i - 1]!;
    const y = (b[i - 2]! - l[p + i - 2]! * w - l[q + i - 2]! * x) / l[r + i - 2]!;
    const z = (b[i - 3]! - l[p + i - 3]! * w - l[q + i - 3]! * x - l[r + i - 3]! * y) / l[s + i - 3]!;
    for (let j = 0; j < i - 3; j++) b[j] = b[j]! - l[p + j]! * w - l[q + j]! * x - l[r + j]! * y - l[s + j]! * z;
    b[i] = w;
    b[i - 1] = x;
    b[i - 2] = y;
    b[i - 3] = z;
  }
  for (; i >= 0; i--) {
    const row = i * stride;
    const value = b[i]! / l[row + i]!;
    b[i] = value;
    for (let j = 0; j < i; j++) b[j]! -= l[row + j]! * value;
  }
}

/** Order of a lower triangular factor without gaps between its rows, and the position of the first nonzero entry. */
export interface PartialShape {
  readonly n: number;
  readonly from: number;
}

/** Four columns that are solved together. */
export type FourColumns = readonly [Float64Array, Float64Array, Float64Array, Float64Array];

/** Solves like `solveForward` for four columns that are zero before `from`; two rows at a time. @cost 2 (n - from)^2 */
export function solveForwardFour(l: Float64Array, four: FourColumns, { n, from }: PartialShape): void {
  const [a, b, c, d] = four;
  let i = from;
  for (; i + 1 < n; i += 2) {
    const [p, q] = [i * n, (i + 1) * n];
    let [pa, pb, pc, pd] = [a[i]!, b[i]!, c[i]!, d[i]!];
    let [qa, qb, qc, qd] = [a[i + 1]!, b[i + 1]!, c[i + 1]!, d[i + 1]!];
    for (let j = from; j < i; j++) {
      const u = l[p + j]!;
      const v = l[q + j]!;
      const [xa, xb, xc, xd] = [a[j]!, b[j]!, c[j]!, d[j]!];
      pa -= u * xa;
      pb -= u * xb;
      pc -= u * xc;
      pd -= u * xd;
      qa -= v * xa;
      qb -= v * xb;
      qc -= v * xc;
      qd -= v * xd;
    }
    const pivot = l[p + i]!;
    const multiplier = l[q + i]!;
    const next = l[q + i + 1]!;
    a[i] = pa /= pivot;
    b[i] = pb /= pivot;
    c[i] = pc /= pivot;
    d[i] = pd /= pivot;
    a[i + 1] = (qa - multiplier * pa) / next;
    b[i + 1] = (qb - multiplier * pb) / next;
    c[i + 1] = (qc - multiplier * pc) / next;
    d[i + 1] = (qd - multiplier * pd) / next;
  }
  if (i < n) solveForwardFourRow(l, four, i, { n, from });
}

function solveForwardFourRow(l: Float64Array, [a, b, c, d]: FourColumns, i: number, { n, from }: PartialShape): void {
  const row = i * n;
  let [ra, rb, rc, rd] = [a[i]!, b[i]!, c[i]!, d[i]!];
  for (let j = from; j < i; j++) {
    const value = l[row + j]!;
    ra -= value * a[j]!;
    rb -= value * b[j]!;
    rc -= value * c[j]!;
    rd -= value * d[j]!;
  }
  const pivot = l[row + i]!;
  a[i] = ra / pivot;
  b[i] = rb / pivot;
  c[i] = rc / pivot;
  d[i] = rd / pivot;
}

/**
 * Solves like `solveForwardFour` for a single column, with bit-identical results; four rows at a time. @cost (n -
 * from)^2 / 2
 */
export function solveForwardOfFour(l: Float64Array, a: Float64Array, { n, from }: PartialShape): void {
  let i = from;
  for (; i + 3 < n; i += 4) {
    const [p, q, r, s] = [i * n, (i + 1) * n, (i + 2) * n, (i + 3) * n];
    let [pa, qa, ra, sa] = [a[i]!, a[i + 1]!, a[i + 2]!, a[i + 3]!];
    for (let j = from; j < i; j++) {
      const x = a[j]!;
      pa -= l[p + j]! * x;
      qa -= l[q + j]! * x;
      ra -= l[r + j]! * x;
      sa -= l[s + j]! * x;
    }
    const w = pa / l[p + i]!;
    const x = (qa - l[q + i]! * w) / l[q + i + 1]!;
    const y = (ra - l[r + i]! * w - l[r + i + 1]! * x) / l[r + i + 2]!;
    a[i] = w;
    a[i + 1] = x;
    a[i + 2] = y;
    a[i + 3] = (sa - l[s + i]! * w - l[s + i + 1]! * x - l[s + i + 2]! * y) / l[s + i + 3]!;
  }
  for (; i < n; i++) {
    const row = i * n;
    let total = a[i]!;
    for (let j = from; j < i; j++) total -= l[row + j]! * a[j]!;
    a[i] = total / l[row + i]!;
  }
}
