import { symmetricRankK } from '../algebra/symmetric-rank-k.js';
import { assert } from '../assert.js';
import { demean, type Demeaned } from './demean.js';

/** The one product a covariance needs; an engine offers the same signature. */
export interface RankKProduct {
  symmetricRankK(x: Float64Array, columns: number, out: Float64Array): void;
}

const PLAIN: RankKProduct = { symmetricRankK };

/**
 * Sample covariance of a panel of returns, ddof 1, or its weighted form.
 *
 * @param x        [observations x assets] row-major returns, finite. Spent: becomes the demeaned panel scaled so that X'X is the covariance.
 * @param assets   Columns of `x`, at least 1.
 * @param out      [assets x assets] row-major, overwritten; return^2 per period, exactly symmetric.
 * @param options  `weights` [observations] summing to 1 (equal when absent); `engine` that multiplies (plain loops when absent).
 * @returns        The row factors: divide row t of the spent panel by the square root of factor t to have deviations again.
 * @throws         KernelFault on a shape mismatch or fewer than two observations.
 * @cost           observations * assets^2 / 2 multiply-adds.
 * @source         Unbiased estimator; weights as reliability weights, S = sum w x x' / (1 - sum w^2).
 */
export function sampleCovariance(
  x: Float64Array,
  assets: number,
  out: Float64Array,
  options: { readonly weights?: Float64Array; readonly engine?: RankKProduct } = {},
): Demeaned {
  assert(out.length === assets * assets, `out: ${out.length} values for ${assets} assets`);
  const demeaned = demean(x, assets, options.weights, new Float64Array(assets));
  scaleRows(x, assets, demeaned.rowFactors);
  (options.engine ?? PLAIN).symmetricRankK(x, assets, out);
  return demeaned;
}

/**
 * Multiplies row t of a panel by the square root of its factor, in place.
 *
 * @param x        [observations x assets] row-major.
 * @param assets   Columns of `x`.
 * @param factors  [observations], not negative.
 * @returns        Nothing; `x` is scaled.
 * @throws         KernelFault on a shape mismatch.
 * @cost           one pass over the panel.
 * @source         Definition.
 */
export function scaleRows(x: Float64Array, assets: number, factors: Float64Array): void {
  assert(x.length === assets * factors.length, `x: ${x.length} values for ${factors.length} x ${assets}`);
  for (let t = 0, at = 0; t < factors.length; t++) {
    const scale = Math.sqrt(factors[t]!);
    for (const end = at + assets; at < end; at++) x[at]! *= scale;
  }
}
