import { assert } from '../assert.js';

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
 * @returns       Nothing; the upper triangle of `out` is updated.
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
