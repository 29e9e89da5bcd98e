import { assert } from '../assert.js';
import type { Target } from './shrinkage-target.js';

/** Squared relative distance that rounding alone can put between a matrix and the target it equals (two names, duplicated names). */
const ROUNDING = (16 * Number.EPSILON) ** 2;

/**
 * Ledoit-Wolf's analytic shrinkage intensity towards a constant-correlation or scaled-identity target.
 *
 * @param deviations   [observations x assets] row-major, column means (weighted alike) removed.
 * @param covariance   [assets x assets] row-major, S = sum_t v_t x_t x_t'.
 * @param target       Target of S; `common` 0 with an equal `own` is the scaled identity, which has no rho.
 * @param options      `rowFactors` v [observations] (1/(T-1) each for equal weights), their `dispersion` (sum v^2 / sum v),
 *                     and `isConstantCorrelation`.
 * @returns            Intensity in [0, 1]: the weight on the target; 0 when S is its own target.
 * @throws             KernelFault on a shape mismatch.
 * @cost               6 passes over the panel and 2 over the matrix: no product of order observations * assets^2 is formed again.
 * @source             Ledoit & Wolf (2004), J. Multivariate Analysis 88(2), 365-411 (identity); Ledoit & Wolf (2004),
 *                     J. Portfolio Management 30(4), 110-119, appendix B (constant correlation); with n = T - 1 as in the authors' code.
 */
export function ledoitWolfIntensity(
  deviations: Float64Array,
  covariance: Float64Array,
  target: Target,
  options: { readonly rowFactors: Float64Array; readonly dispersion: number; readonly isConstantCorrelation: boolean },
): number {
  const assets = target.own.length;
  const { rowFactors, dispersion, isConstantCorrelation } = options;
  assert(deviations.length === assets * rowFactors.length, `deviations: ${deviations.length} values for ${rowFactors.length} x ${assets}`);
  assert(covariance.length === assets * assets, `covariance: ${covariance.length} values for ${assets} assets`);

  const { frobenius2, gamma } = distances(covariance, target);
  if (gamma <= ROUNDING * frobenius2) return 0;
  const pi = fourthMoment(deviations, assets, rowFactors) - frobenius2;
  const rho = isConstantCorrelation ? rhoOf(deviations, target.scale, target.common, rowFactors) : 0;
  return Math.min(Math.max(((pi - rho) / gamma) * dispersion, 0), 1);
}

/** |S|^2 and |F - S|^2, summed pair by pair over the rows. */
function distances(covariance: Float64Array, target: Target): { frobenius2: number; gamma: number } {
  const assets = target.own.length;
  let frobenius2 = 0;
  let gamma = 0;
  for (let i = 0; i < assets; i++) {
    const common = target.common * target.scale[i]!;
    const own = covariance[i * assets + i]!;
    let squares = 0;
    let gaps = 0;
    for (let j = i + 1; j < assets; j++) {
      const s = covariance[i * assets + j]!;
      const gap = common * target.scale[j]! - s;
      squares += s * s;
      gaps += gap * gap;
    }
    // The diagonal of a constant-correlation target is that of S by definition: rounding must not make a distance of it.
    const ownGap = target.common === 0 && target.scale[i] === 0 ? target.own[i]! - own : 0;
    frobenius2 += own * own + 2 * squares;
    gamma += ownGap * ownGap + 2 * gaps;
  }
  return { frobenius2, gamma };
}

/** sum_t v_t |x_t|^4 = sum_ij sum_t v_t x_ti^2 x_tj^2. */
function fourthMoment(deviations: Float64Array, assets: number, rowFactors: Float64Array): number {
  let total = 0;
  for (let t = 0, at = 0; t < rowFactors.length; t++) {
    let norm2 = 0;
    for (const end = at + assets; at < end; at++) norm2 += deviations[at]! * deviations[at]!;
    total += rowFactors[t]! * norm2 * norm2;
  }
  return total;
}

/**
 * rho of the constant-correlation target, sum_i pi_ii + rbar sum_{i != j} (s_j / s_i) theta_ij. The double sum factors over a row:
 * sum_ij (s_j / s_i) sum_t v_t x_ti^3 x_tj = sum_t v_t (sum_i x_ti^3 / s_i)(sum_j s_j x_tj), and its second part is s'Ss.
 */
function rhoOf(deviations: Float64Array, volatilities: Float64Array, rbar: number, rowFactors: Float64Array): number {
  const assets = volatilities.length;
  const inverses = volatilities.map((volatility) => (volatility > 0 ? 1 / volatility : 0));
  let fourths = 0; // sum_i sum_t v_t x_ti^4
  let crossed = 0; // sum_ij (s_j / s_i) sum_t v_t x_ti^3 x_tj
  let quadratic = 0; // s'Ss
  for (let t = 0, row = 0; t < rowFactors.length; t++, row += assets) {
    let cubes = 0;
    let linear = 0;
    let rowFourths = 0;
    for (let i = 0; i < assets; i++) {
      const x = deviations[row + i]!;
      const cube = x * x * x;
      cubes += cube * inverses[i]!;
      linear += x * volatilities[i]!;
      rowFourths += cube * x;
    }
    fourths += rowFactors[t]! * rowFourths;
    crossed += rowFactors[t]! * cubes * linear;
    quadratic += rowFactors[t]! * linear * linear;
  }
  let variances2 = 0;
  for (let i = 0; i < assets; i++) variances2 += volatilities[i]! ** 4;
  return fourths - variances2 + rbar * (crossed - fourths - (quadratic - variances2));
}
