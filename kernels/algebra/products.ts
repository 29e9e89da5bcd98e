import { assert } from '../assert.js';

/** Sizes of a matrix product. The result is [rows x columns]; the summed axis has length `inner`. */
export interface ProductShape {
  readonly rows: number;
  readonly inner: number;
  readonly columns: number;
  /** `a` is stored as [inner x rows]. */
  readonly transposeA?: boolean;
  /** `b` is stored as [columns x inner]. */
  readonly transposeB?: boolean;
}

/**
 * Computes the matrix product C = op(A) op(B), all row-major.
 *
 * @param shape  Sizes of the result and of the summed axis, and which operands are transposed in memory.
 * @param a      [rows x inner], or [inner x rows] when transposed.
 * @param b      [inner x columns], or [columns x inner] when transposed.
 * @param out    [rows x columns], overwritten; must not overlap `a` or `b`.
 * @throws       KernelFault on a shape mismatch.
 * @cost         rows * inner * columns multiply-adds; no scratch.
 * @source       Dongarra et al. (1990), A set of level 3 basic linear algebra subprograms, ACM TOMS 16(1), GEMM.
 */
export function gemm(shape: ProductShape, a: Float64Array, b: Float64Array, out: Float64Array): void {
  assertProduct(shape, a, b, out);
  const { rows, inner, columns, transposeA = false, transposeB = false } = shape;
  const aRow = transposeA ? 1 : inner;
  const aInner = transposeA ? rows : 1;
  out.fill(0);
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < inner; k++) {
      const factor = a[i * aRow + k * aInner]!;
      if (transposeB) addScaledColumn(b, k, inner, factor, out, i * columns, columns);
      else addScaledRow(b, k * columns, factor, out, i * columns, columns);
    }
  }
}

/** Checks the arguments of every matrix product, whichever engine computes it. */
export function assertProduct(shape: ProductShape, a: Float64Array, b: Float64Array, out: Float64Array): void {
  const { rows, inner, columns } = shape;
  assert(a.length === rows * inner, `a: ${a.length} values for ${rows} x ${inner}`);
  assert(b.length === inner * columns, `b: ${b.length} values for ${inner} x ${columns}`);
  assert(out.length === rows * columns, `out: ${out.length} values for ${rows} x ${columns}`);
}

function addScaledRow(
  b: Float64Array,
  from: number,
  factor: number,
  out: Float64Array,
  to: number,
  length: number,
): void {
  for (let j = 0; j < length; j++) out[to + j]! += factor * b[from + j]!;
}

function addScaledColumn(
  b: Float64Array,
  from: number,
  stride: number,
  factor: number,
  out: Float64Array,
  to: number,
  length: number,
): void {
  for (let j = 0; j < length; j++) out[to + j]! += factor * b[from + j * stride]!;
}

/**
 * Multiplies a matrix by a vector, y = A x.
 *
 * @param a    [rows x columns] row-major; rows and columns are the lengths of `out` and `x`.
 * @param x    [columns].
 * @param out  [rows], overwritten; must not overlap `x`.
 * @throws     KernelFault on a shape mismatch.
 * @cost       rows * columns multiply-adds, one pass over `a`; no scratch.
 * @source     Dongarra et al. (1988), An extended set of Fortran basic linear algebra subprograms, ACM TOMS 14(1),
 *             GEMV.
 */
export function gemv(a: Float64Array, x: Float64Array, out: Float64Array): void {
  const columns = x.length;
  assert(a.length === out.length * columns, `a: ${a.length} values for ${out.length} x ${columns}`);
  for (let i = 0; i < out.length; i++) out[i] = multiplyRow(a, i * columns, x);
}

/**
 * Multiplies a transposed matrix by a vector, y = A' x.
 *
 * @param a    [rows x columns] row-major; rows and columns are the lengths of `x` and `out`.
 * @param x    [rows].
 * @param out  [columns], overwritten; must not overlap `x`.
 * @throws     KernelFault on a shape mismatch.
 * @cost       rows * columns multiply-adds, one pass over `a`; no scratch.
 * @source     Dongarra et al. (1988), An extended set of Fortran basic linear algebra subprograms, ACM TOMS 14(1),
 *             GEMV.
 */
export function gemvTransposed(a: Float64Array, x: Float64Array, out: Float64Array): void {
  const columns = out.length;
  assert(a.length === x.length * columns, `a: ${a.length} values for ${x.length} x ${columns}`);
  out.fill(0);
  for (let t = 0; t < x.length; t++) addScaledGemvRow(a, t * columns, x[t]!, out);
}

function multiplyRow(a: Float64Array, row: number, x: Float64Array): number {
  let total = 0;
  for (let j = 0; j < x.length; j++) total += a[row + j]! * x[j]!;
  return total;
}

function addScaledGemvRow(a: Float64Array, row: number, factor: number, out: Float64Array): void {
  for (let j = 0; j < out.length; j++) out[j]! += factor * a[row + j]!;
}

/** Order of the square blocks that are copied, chosen so that source and destination stay in the cache. */
const BLOCK_ORDER = 32;

/**
 * Copies the upper triangle of a square matrix to the lower one.
 *
 * @param a  [n x n] row-major; becomes exactly symmetric.
 * @param n  Order, at least 0.
 * @throws   KernelFault on a shape mismatch.
 * @cost     n^2 / 2 copies in blocks of order 32, written row by row; memory-bound.
 * @source   Definition.
 */
export function mirrorUpper(a: Float64Array, n: number): void {
  assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
  for (let ib = 0; ib < n; ib += BLOCK_ORDER) {
    for (let jb = ib; jb < n; jb += BLOCK_ORDER) mirrorBlock(a, n, ib, jb);
  }
}

function mirrorBlock(a: Float64Array, n: number, ib: number, jb: number): void {
  const iEnd = Math.min(ib + BLOCK_ORDER, n);
  const jEnd = Math.min(jb + BLOCK_ORDER, n);
  for (let j = jb; j < jEnd; j++) {
    const row = j * n;
    const end = Math.min(iEnd, j);
    for (let i = ib, from = ib * n + j; i < end; i++, from += n) a[row + i] = a[from]!;
  }
}

/** Coefficients of the update C := decay C + factor x x'. */
export interface RankOneUpdate {
  /** Factor on the existing matrix; 1 leaves it unchanged. */
  readonly decay: number;
  /** Factor on the outer product; a negative factor removes a row. */
  readonly factor: number;
}

/**
 * Decays a symmetric matrix and adds an outer product, upper triangle only.
 *
 * @param out     [n x n] row-major; the part below the diagonal is neither read nor written.
 * @param x       [n].
 * @param update  Decay of the matrix and factor on the outer product.
 * @throws        KernelFault on a shape mismatch.
 * @cost          n^2 / 2 multiply-adds, one pass over half of `out`; memory-bound.
 * @source        Dongarra et al. (1988), An extended set of Fortran basic linear algebra subprograms, ACM TOMS 14(1),
 *                SYR.
 */
export function rankOneUpdate(out: Float64Array, x: Float64Array, { decay, factor }: RankOneUpdate): void {
  const n = x.length;
  assert(out.length === n * n, `out: ${out.length} values for ${n} x ${n}`);
  for (let i = 0; i < n; i++) {
    const scaledEntry = factor * x[i]!;
    for (let j = i, position = i * n + i; j < n; j++, position++)
      out[position] = decay * out[position]! + scaledEntry * x[j]!;
  }
}

/**
 * Squares every entry of a matrix.
 *
 * @param x    Matrix of any shape.
 * @param out  Same length as `x`, overwritten; may be `x` itself.
 * @throws     KernelFault on a shape mismatch.
 * @cost       One pass, bound by memory.
 * @source     Definition (the Hadamard square).
 */
export function square(x: Float64Array, out: Float64Array): void {
  assert(out.length === x.length, `out: ${out.length} values for ${x.length}`);
  for (let k = 0; k < x.length; k++) out[k] = x[k]! * x[k]!;
}

/**
 * Computes the product of a panel with itself, C = X'X: the sum of the outer products of its rows.
 *
 * @param x        [rows x columns] row-major.
 * @param columns  Number of columns of `x`, at least 1.
 * @param out      [columns x columns] row-major, overwritten; exactly symmetric.
 * @returns        Nothing; the result is in `out`. Each entry is summed from first to last row.
 * @throws         KernelFault on a shape mismatch.
 * @cost           rows * columns^2 / 2 multiply-adds; no scratch.
 * @source         Dongarra et al. (1990), A set of level 3 basic linear algebra subprograms, ACM TOMS 16(1), SYRK.
 */
export function computeSymmetricRankK(x: Float64Array, columns: number, out: Float64Array): void {
  const rows = x.length / columns;
  assert(columns >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${columns} columns`);
  assert(out.length === columns * columns, `out: ${out.length} values for ${columns} columns`);
  out.fill(0);
  for (let t = 0; t < rows; t++) addOuterUpper(x, t * columns, columns, out);
  mirrorUpper(out, columns);
}

function addOuterUpper(x: Float64Array, row: number, columns: number, out: Float64Array): void {
  for (let i = 0; i < columns; i++) {
    const factor = x[row + i]!;
    const offset = i * columns;
    for (let j = i; j < columns; j++) out[offset + j]! += factor * x[row + j]!;
  }
}

/**
 * Multiplies a symmetric matrix by a vector, y = A x, reading the upper triangle only.
 *
 * @param a    [n x n] row-major; the part below the diagonal is not read.
 * @param x    [n].
 * @param out  [n], overwritten; must not overlap `x`.
 * @throws     KernelFault on a shape mismatch.
 * @cost       n^2 multiply-adds, one pass over half of `a`; no scratch.
 * @source     Dongarra et al. (1988), An extended set of Fortran basic linear algebra subprograms, ACM TOMS 14(1),
 *             SYMV.
 */
export function symv(a: Float64Array, x: Float64Array, out: Float64Array): void {
  const n = x.length;
  assert(out.length === n, `out: ${out.length} values for ${n}`);
  assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
  out.fill(0);
  for (let i = 0; i < n; i++) out[i]! += addUpperRow(a, i, x, out);
}

/**
 * Adds row i, right of the diagonal, to the later outputs. Returns the product of row i, from its diagonal on, with
 * `x`.
 */
function addUpperRow(a: Float64Array, i: number, x: Float64Array, out: Float64Array): number {
  const n = x.length;
  const xi = x[i]!;
  let total = a[i * n + i]! * xi;
  for (let j = i + 1, position = i * n + i + 1; j < n; j++, position++) {
    const value = a[position]!;
    total += value * x[j]!;
    out[j]! += value * xi;
  }
  return total;
}
