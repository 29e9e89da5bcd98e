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
 * @returns      Nothing; the result is in `out`.
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
