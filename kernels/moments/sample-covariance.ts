import { centreColumns } from '../algebra/centre-columns.js';
import { computeSymmetricRankK } from '../algebra/symmetric-rank-k.js';
import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { demean, type RowMoments } from './demean.js';

/** Engine operations for a covariance. */
export type RankKProduct = Pick<Engine, 'symmetricRankK' | 'centreColumns'>;

const PLAIN_ENGINE: RankKProduct = { symmetricRankK: computeSymmetricRankK, centreColumns };

/**
 * Computes the sample covariance of a panel of returns, ddof 1, or its weighted form.
 *
 * @param x        [observations x assets] row-major returns, finite. Overwritten by the demeaned panel, scaled so that
 *                 X'X is the covariance.
 * @param assets   Columns of `x`, at least 1.
 * @param out      [assets x assets] row-major, overwritten; return^2 per period, exactly symmetric.
 * @param options  `weights`, [observations], summing to 1 (default: equal), and `engine`, which multiplies (default:
 *                 plain loops).
 * @returns        Row factors: row t of the overwritten panel divided by the square root of factor t gives the
 *                 deviations.
 * @throws         KernelFault on a shape mismatch or fewer than two observations.
 * @cost           observations * assets^2 / 2 multiply-adds.
 * @source         Unbiased estimator; weights are reliability weights, S = sum w x x' / (1 - sum w^2).
 */
export function computeSampleCovariance(
  x: Float64Array,
  assets: number,
  out: Float64Array,
  options: { readonly weights?: Float64Array; readonly engine?: RankKProduct } = {},
): RowMoments {
  assert(out.length === assets * assets, `out: ${out.length} values for ${assets} assets`);
  const engine = options.engine ?? PLAIN_ENGINE;
  const demeanedPanel = demean(x, assets, options.weights, new Float64Array(assets), engine);
  engine.symmetricRankK(x, assets, out);
  return demeanedPanel;
}
