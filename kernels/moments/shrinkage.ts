import { assert } from '../assert.js';
import { raiseToPower } from '../power.js';
import { computePairwiseSum } from '../sums/sums.js';

export const SHRINKAGE_TARGETS = ['constant_correlation', 'scaled_identity'] as const;
export type ShrinkageTarget = (typeof SHRINKAGE_TARGETS)[number];

/**
 * Shrinkage target in low-rank form: F = common s s' + diag(d), where s is `scale` and d is `addedVariances`. Constant
 * correlation: common = rbar, s the volatilities, d_i = (1 - rbar) s_i^2. Scaled identity: common = 0, d_i = mean
 * variance.
 */
export interface CovarianceTarget {
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
 * Returns the shrinkage target for given variances.
 *
 * @param target       Kind of the target.
 * @param variances    [assets], not negative.
 * @param correlation  Mean off-diagonal correlation; not read for the scaled identity.
 * @returns            Target in low-rank form, in the unit of the variances.
 * @throws             KernelFault if there is no security.
 * @cost               Order assets.
 * @source             Ledoit & Wolf (2004), J. Portfolio Management 30(4), 110-119; Ledoit & Wolf (2004), J.
 *                     Multivariate Analysis 88(2), 365-411.
 */
export function createTarget(target: ShrinkageTarget, variances: Float64Array, correlation: number): CovarianceTarget {
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

function computeVolatilities(covariance: Float64Array, assets: number): Float64Array {
  assert(
    assets >= 1 && covariance.length === assets * assets,
    `covariance: ${covariance.length} values for ${assets} assets`,
  );
  const volatilities = new Float64Array(assets);
  for (let i = 0; i < assets; i++) volatilities[i] = Math.sqrt(Math.max(0, covariance[i * assets + i]!));
  return volatilities;
}

/**
 * Relative distance between a matrix and an equal target that rounding can cause, for a matrix that is summed over this
 * number of observations. Equal targets occur with two assets or duplicated assets.
 */
const computeRounding = (observations: number): number => (16 + observations) * Number.EPSILON;

/** Distances of a sample covariance from its target. */
export interface Distances {
  /** |S|^2: sum of all squared entries. */
  readonly frobenius2: number;
  /** |F - S|^2 */
  readonly gamma: number;
}

/**
 * Measures the distance of a covariance matrix from its shrinkage target.
 *
 * @param covariance  [assets x assets] row-major, symmetric.
 * @param target      Shrinkage target of the matrix.
 * @returns           |S|^2 and |F - S|^2.
 * @throws            KernelFault on a shape mismatch.
 * @cost              One pass over half the matrix.
 * @source            Ledoit & Wolf (2004), J. Portfolio Management 30(4), appendix B.
 */
export function measureTargetDistances(covariance: Float64Array, target: CovarianceTarget): Distances {
  const assets = target.addedVariances.length;
  assert(covariance.length === assets * assets, `covariance: ${covariance.length} values for ${assets} assets`);
  let frobenius2 = 0;
  let gamma = 0;
  for (let i = 0; i < assets; i++) {
    const common = target.common * target.scale[i]!;
    const variance = covariance[i * assets + i]!;
    let squares = 0;
    let gaps = 0;
    for (let j = i + 1; j < assets; j++) {
      const s = covariance[i * assets + j]!;
      const gap = common * target.scale[j]! - s;
      squares += s * s;
      gaps += gap * gap;
    }
    // The diagonal of a constant-correlation target equals that of S by definition. It is excluded, so that rounding
    // does not add to the distance.
    const ownGap = target.kind === 'scaled_identity' ? target.addedVariances[i]! - variance : 0;
    frobenius2 += variance * variance + 2 * squares;
    gamma += ownGap * ownGap + 2 * gaps;
  }
  return { frobenius2, gamma };
}

/**
 * Computes the Ledoit-Wolf shrinkage intensity towards a constant-correlation or scaled-identity target.
 *
 * @param panel      [observations x assets] row-major, demeaned and scaled so that S = X'X, as by
 *                   `computeSampleCovariance`.
 * @param target     Shrinkage target of S.
 * @param distances  Distances of S from the target.
 * @param weights    Result of `computeSampleCovariance`: the factor of each row and the dispersion of the factors (1/(T
 *                   - 1) for equal weights).
 * @returns          Intensity in [0, 1]: the weight on the target; 0 if S equals its target; NaN if a sum of fourth
 *                   powers is not finite.
 * @throws           KernelFault on a shape mismatch.
 * @cost             Two passes over the panel, without another product of order observations * assets^2.
 * @source           Ledoit & Wolf (2004), J. Multivariate Analysis 88(2), 365-411 (identity); Ledoit & Wolf (2004),
 *                   J. Portfolio Management 30(4), 110-119, appendix B (constant correlation); with n = T - 1 as in
 *                   the authors' code.
 */
export function computeLedoitWolfIntensity(
  panel: Float64Array,
  target: CovarianceTarget,
  distances: Distances,
  weights: { readonly rowFactors: Float64Array; readonly dispersion: number },
): number {
  const assets = target.addedVariances.length;
  const { rowFactors, dispersion } = weights;
  assert(
    panel.length === assets * rowFactors.length,
    `panel: ${panel.length} values for ${rowFactors.length} x ${assets}`,
  );
  const { frobenius2, gamma } = distances;
  if (gamma <= computeRounding(rowFactors.length) ** 2 * frobenius2) return 0;
  const pi = computeFourthMoment(panel, assets, rowFactors) - frobenius2;
  const rho = target.kind === 'constant_correlation' ? computeRho(panel, target.scale, target.common, rowFactors) : 0;
  return Math.min(Math.max(((pi - rho) / gamma) * dispersion, 0), 1);
}

/** Computes sum_t v_t |x_t|^4 = sum_ij sum_t v_t x_ti^2 x_tj^2, from rows y_t = sqrt(v_t) x_t. */
function computeFourthMoment(panel: Float64Array, assets: number, rowFactors: Float64Array): number {
  let total = 0;
  for (let t = 0, position = 0; t < rowFactors.length; t++) {
    let norm2 = 0;
    for (const end = position + assets; position < end; position++) norm2 += panel[position]! * panel[position]!;
    if (rowFactors[t]! > 0) total += (norm2 * norm2) / rowFactors[t]!;
  }
  return total;
}

/**
 * Computes rho of the constant-correlation target, sum_i pi_ii + rbar sum_{i != j} (s_j / s_i) theta_ij. The double sum
 * is a product of two sums per row: sum_ij (s_j / s_i) sum_t v_t x_ti^3 x_tj = sum_t v_t (sum_i x_ti^3 / s_i)(sum_j s_j
 * x_tj); its second part is s'Ss.
 */
function computeRho(panel: Float64Array, volatilities: Float64Array, rbar: number, rowFactors: Float64Array): number {
  const assets = volatilities.length;
  const inverses = volatilities.map((volatility) => (volatility > 0 ? 1 / volatility : 0));
  let fourths = 0; // sum_i sum_t v_t x_ti^4
  let crossSum = 0; // sum_ij (s_j / s_i) sum_t v_t x_ti^3 x_tj
  let quadratic = 0; // s'Ss
  for (let t = 0, row = 0; t < rowFactors.length; t++, row += assets) {
    let cubes = 0;
    let linear = 0;
    let rowFourths = 0;
    for (let i = 0; i < assets; i++) {
      const y = panel[row + i]!;
      const cube = y * y * y;
      cubes += cube * inverses[i]!;
      linear += y * volatilities[i]!;
      rowFourths += cube * y;
    }
    quadratic += linear * linear;
    if (rowFactors[t] === 0) continue;
    fourths += rowFourths / rowFactors[t]!;
    crossSum += (cubes * linear) / rowFactors[t]!;
  }
  let variances2 = 0;
  for (let i = 0; i < assets; i++) variances2 += raiseToPower(volatilities[i]!, 4);
  return fourths - variances2 + rbar * (crossSum - fourths - (quadratic - variances2));
}
