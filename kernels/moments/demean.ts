import { centreColumns as plainCentreColumns } from '../algebra/centre-columns.js';
import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';

/** Engine operations that centre a panel. */
export type CentringEngine = Pick<Engine, 'centreColumns'>;

const PLAIN_ENGINE: CentringEngine = { centreColumns: plainCentreColumns };

/** Results of demeaning that a covariance needs. */
export interface RowMoments {
  /** Row factors v_t, [observations]: S = X'X once every row of X is multiplied by the square root of its factor. */
  readonly rowFactors: Float64Array;
  /**
   * Sum of the squared factors divided by the sum of the factors. It is 1/(T-1) for equal weights. In general, it is
   * the variance factor of a weighted mean.
   */
  readonly dispersion: number;
  /** Variances of the columns, [assets]: the diagonal of S. */
  readonly variances: Float64Array;
}

/**
 * Subtracts the (weighted) mean of each column in place and multiplies the rows so that products become covariances.
 *
 * @param x        [observations x assets] row-major returns, finite; becomes the deviations from the column
 *                 means, times the square roots of the row factors.
 * @param assets   Columns of `x`, at least 1.
 * @param weights  [observations] summing to 1, or undefined for equal weights (factors 1/(observations - 1), ddof 1).
 * @param means    [assets], overwritten with the column means.
 * @param engine   Engine that centres (plain loops when absent).
 * @returns        Factors v_t = w_t / (1 - sum w^2), their dispersion and the variances; the covariance S_ij = sum_t
 *                 v_t x_ti x_tj of the deviations is unbiased.
 * @throws         KernelFault on a shape mismatch or fewer than two observations.
 * @cost           two passes over the panel; no scratch beyond the factors.
 * @source         ISO/GUM reliability weights; equal weights give the textbook ddof 1.
 */
export function demean(
  x: Float64Array,
  assets: number,
  weights: Float64Array | undefined,
  means: Float64Array,
  { centreColumns }: CentringEngine = PLAIN_ENGINE,
): RowMoments {
  const observations = x.length / assets;
  assert(assets >= 1 && Number.isInteger(observations), `x: ${x.length} values over ${assets} assets`);
  assert(observations >= 2, `observations: ${observations}, at least 2 needed`);
  assert(
    weights === undefined || weights.length === observations,
    `weights: ${weights?.length} for ${observations} observations`,
  );
  assert(means.length === assets, `means: ${means.length} for ${assets} assets`);
  const { rowFactors, dispersion } = computeRowFactors(observations, weights);
  const variances = new Float64Array(assets);
  centreColumns(x, { weights, factors: rowFactors }, means, variances);
  return { rowFactors, dispersion, variances };
}

function computeRowFactors(observations: number, weights: Float64Array | undefined): Omit<RowMoments, 'variances'> {
  const rowFactors = new Float64Array(observations);
  if (weights === undefined) {
    rowFactors.fill(1 / (observations - 1));
    return { rowFactors, dispersion: 1 / (observations - 1) };
  }
  let squares = 0;
  for (let t = 0; t < observations; t++) squares += weights[t]! * weights[t]!;
  let total = 0;
  let totalOfSquares = 0;
  for (let t = 0; t < observations; t++) {
    const factor = weights[t]! / (1 - squares);
    rowFactors[t] = factor;
    total += factor;
    totalOfSquares += factor * factor;
  }
  return { rowFactors, dispersion: totalOfSquares / total };
}
