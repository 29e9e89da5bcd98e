import { assert } from '../assert.js';

/** C := decay C + factor x x', in numbers. */
export interface RankOneUpdate {
  /** Factor on the existing matrix, for instance 1. */
  readonly decay: number;
  /** Factor on the new product; a negative one removes a row. */
  readonly factor: number;
}

/**
 * Decays a symmetric matrix and adds an outer product, upper triangle only.
 *
 * @param out     [n x n] row-major; the part below the diagonal is neither read nor written.
 * @param x       [n].
 * @param update  Both factors.
 * @returns       Nothing; the upper triangle of `out` is updated.
 * @throws        KernelFault on a shape mismatch.
 * @cost          n^2 / 2 multiply-adds, one pass over half of `out`: bound by memory.
 * @source        Dongarra et al. (1988), An extended set of Fortran basic linear algebra subprograms, ACM TOMS 14(1),
 *                SYR.
 */
export function rankOneUpdate(out: Float64Array, x: Float64Array, { decay, factor }: RankOneUpdate): void {
  const n = x.length;
  assert(out.length === n * n, `out: ${out.length} values for ${n} x ${n}`);
  for (let i = 0; i < n; i++) {
    const scaled = factor * x[i]!;
    for (let j = i, at = i * n + i; j < n; j++, at++) out[at] = decay * out[at]! + scaled * x[j]!;
  }
}
