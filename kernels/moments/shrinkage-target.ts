import { assert } from '../assert.js';
import { computePairwiseSum } from '../sums/pairwise-sum.js';

export const SHRINKAGE_TARGETS = ['constant_correlation', 'scaled_identity'] as const;
export type ShrinkageTarget = (typeof SHRINKAGE_TARGETS)[number];

/**
 * Shrinkage target in low-rank form: F = common s s' + diag(d), where s is `scale` and d is `addedVariances`. Constant
 * correlation: common = rbar, s the volatilities, d_i = (1 - rbar) s_i^2. Scaled identity: common = 0, d_i = mean
 * variance.
 */
export interface Target {
  readonly kind: ShrinkageTarget;
  readonly common: number;
  readonly scale: Float64Array;
  readonly addedVariances: Float64Array;
}

/**
 * Computes the mean off-diagonal correlation of a covariance matrix.
 *
 * @param covariance  [assets x assets] row-major; entries below the diagonal are not read. An asset of zero variance
 *                    has correlation 0.
 * @param assets      Order, at least 1.
 * @returns           Mean over all pairs, in [-1/(assets - 1), 1]; 0 for one security.
 * @throws            KernelFault on a shape mismatch.
 * @cost              assets^2 / 2 divisions; scratch of two rows.
 * @source            Ledoit & Wolf (2004), Honey, I shrunk the sample covariance matrix, J. Portfolio Management 30(4),
 *                    eq. 4.
 */
export function computeAverageCorrelation(covariance: Float64Array, assets: number): number {
  const volatilities = computeVolatilities(covariance, assets);
  if (assets === 1) return 0;
  const rows = new Float64Array(assets);
  for (let i = 0; i < assets; i++)
    rows[i] = sumCorrelations(covariance.subarray(i * (assets + 1), (i + 1) * assets), i, volatilities);
  return computePairwiseSum(rows) / ((assets * (assets - 1)) / 2);
}

/**
 * Sums the correlations of one asset with all later assets.
 *
 * @param row           Covariances with assets i, i + 1 and so on.
 * @param i             Index of the asset.
 * @param volatilities  [assets], square roots of the variances.
 * @returns             Sum over j > i of c_ij / (s_i s_j); an asset of zero variance has correlation 0.
 * @throws              Nothing.
 * @cost                One division per asset.
 * @source              Definition.
 */
export function sumCorrelations(row: Float64Array, i: number, volatilities: Float64Array): number {
  const ownVolatility = volatilities[i]!;
  if (!(ownVolatility > 0)) return 0;
  let total = 0;
  for (let j = i + 1; j < volatilities.length; j++) {
    const volatility = volatilities[j]!;
    if (volatility > 0) total += row[j - i]! / volatility;
  }
  return total / ownVolatility;
}

/**
 * Returns the shrinkage target of a covariance matrix.
 *
 * @param target       Kind of the target.
 * @param covariance   [assets x assets] row-major, symmetric.
 * @param assets       Order, at least 1.
 * @param correlation  Mean off-diagonal correlation of the matrix; not read for the scaled identity.
 * @returns            Target in low-rank form, in the unit of the matrix.
 * @throws             KernelFault on a shape mismatch.
 * @cost               Order assets.
 * @source             Ledoit & Wolf (2004), J. Portfolio Management 30(4), 110-119; Ledoit & Wolf (2004), J.
 *                     Multivariate Analysis 88(2), 365-411.
 */
export function createShrinkageTarget(
  target: ShrinkageTarget,
  covariance: Float64Array,
  assets: number,
  correlation: number,
): Target {
  const volatilities = computeVolatilities(covariance, assets);
  return createTarget(
    target,
    volatilities.map((volatility, i) => (volatility === 0 ? 0 : covariance[i * assets + i]!)),
    correlation,
  );
}

/**
 * Returns the shrinkage target for given variances.
 *
 * @param target       Kind of the target.
 * @param variances    [assets], not negative.
 * @param correlation  Mean off-diagonal correlation; not read for the scaled identity.
 * @returns            Target in low-rank form, in the unit of the variances.
 * @throws             KernelFault if there is no security.
 * @cost               Order assets.
 * @source             See `createShrinkageTarget`.
 */
export function createTarget(target: ShrinkageTarget, variances: Float64Array, correlation: number): Target {
  assert(variances.length >= 1, 'variances: 0 names, at least 1 needed');
  if (target === 'scaled_identity') {
    const mean = computePairwiseSum(variances) / variances.length;
    return {
      kind: target,
      common: 0,
      scale: new Float64Array(variances.length),
      addedVariances: new Float64Array(variances.length).fill(mean),
    };
  }
  return {
    kind: target,
    common: correlation,
    scale: variances.map(Math.sqrt),
    addedVariances: variances.map((variance) => (1 - correlation) * variance),
  };
}

/**
 * Shrinks a covariance matrix towards a target and scales it, in place: S := scale (intensity F + (1 - intensity) S).
 *
 * @param covariance  [assets x assets] row-major, symmetric; overwritten, exactly symmetric.
 * @param target      Target in the unit of the matrix.
 * @param intensity   Weight on the target in [0, 1]; 0 only scales the matrix, 1 gives the scaled target.
 * @param scale       Factor on the result, for example the number of periods per year.
 * @returns           Nothing; the result is in `covariance`.
 * @throws            KernelFault on a shape mismatch or an intensity outside [0, 1].
 * @cost              One pass over the matrix.
 * @source            Ledoit & Wolf (2004), J. Portfolio Management 30(4), eq. 2.
 */
export function shrink(covariance: Float64Array, target: Target, intensity: number, scale: number): void {
  const assets = target.addedVariances.length;
  assert(covariance.length === assets * assets, `covariance: ${covariance.length} values for ${assets} assets`);
  assert(intensity >= 0 && intensity <= 1, `intensity: ${intensity}, outside [0, 1]`);
  for (let i = 0; i < assets; i++) shrinkRow(covariance, i, target, intensity, scale);
}

function shrinkRow(covariance: Float64Array, i: number, target: Target, intensity: number, scale: number): void {
  const assets = target.addedVariances.length;
  const row = i * assets;
  const keep = 1 - intensity;
  const common = target.common * target.scale[i]!;
  const variance = target.common * (target.scale[i]! * target.scale[i]!) + target.addedVariances[i]!;
  covariance[row + i] = scale * (intensity * variance + keep * covariance[row + i]!);
  for (let j = i + 1; j < assets; j++) {
    const value = scale * (intensity * (common * target.scale[j]!) + keep * covariance[row + j]!);
    covariance[row + j] = value;
    covariance[j * assets + i] = value;
  }
}

function computeVolatilities(covariance: Float64Array, assets: number): Float64Array {
  assert(
    assets >= 1 && covariance.length === assets * assets,
    `covariance: ${covariance.length} values for ${assets} assets`,
  );
  const volatilities = new Float64Array(assets);
  for (let i = 0; i < assets; i++) volatilities[i] = Math.sqrt(Math.max(0, covariance[i * assets + i]!));
  return volatilities;
}
