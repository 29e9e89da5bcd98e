import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { createCounterRandom } from '../random/counter-random.js';
import { replaceEigenvalues, type RebuildingEngine } from './estimators/rebuild.js';
import { computeSampleCovariance } from './sample-covariance.js';

/** Seed of the draws, equal for every estimate, so that equal inputs give equal results. */
const SEED = 2011;

/**
 * Minimum ratio of an eigenvalue to the largest eigenvalue. A smaller eigenvalue is a rounding error, and its bias has
 * no meaning.
 */
const NEGLIGIBLE_RATIO = 1e-12;

/** Parameters for drawing sample covariances. */
export interface BiasRequest {
  /** Number of observations of each sample, at least 2. */
  readonly observations: number;
  readonly simulations: number;
}

/**
 * Simulates the bias of the volatilities of eigenportfolios in a sample covariance. The bias is the square root of the
 * mean ratio of true to sample variance. Samples are drawn with the given eigenvalues as the truth. The bias is below 1
 * for the largest eigenvalues and above 1 for the smallest.
 * @param engine   Engine that solves.
 * @param values   [n] eigenvalues, ascending, not negative.
 * @param request  Number of observations of a sample, and number of samples.
 * @returns        Biases, [n], in the order of the eigenvalues; 1 for an eigenvalue of 0.
 * @throws         KernelFault with fewer than two observations or no simulation.
 * @cost           simulations * (observations n^2 / 2 + an eigenproblem of order n).
 * @source         Menchero, Wang & Orr (2011), Eigen-adjusted covariance matrices, MSCI Research Insight; Menchero, Orr
 *                 & Wang (2011), The Barra US Equity Model (USE4), section 4.2.
 */
export function estimateEigenvalueBias(
  engine: Pick<Engine, 'symmetricEigen' | 'allocate' | 'scope'>,
  values: Float64Array,
  { observations, simulations }: BiasRequest,
): Float64Array {
  assert(observations >= 2, `observations: ${observations}, at least 2 needed`);
  assert(simulations >= 1, `simulations: ${simulations}, at least 1 needed`);
  const n = values.length;
  const valueMin = NEGLIGIBLE_RATIO * (values[n - 1] ?? 0);
  const roots = values.map((value) => (value > valueMin ? Math.sqrt(value) : 0));
  const ratios = new Float64Array(n);
  engine.scope(() => {
    const matrix = engine.allocate(n * n);
    const result = engine.allocate(n);
    const vectors = engine.allocate(n * n);
    const panel = new Float64Array(observations * n);
    for (let stream = 0; stream < simulations; stream++) {
      const random = createCounterRandom({ seed: SEED, stream });
      for (let position = 0; position < panel.length; position++)
        panel[position] = roots[position % n]! * random.normal();
      computeSampleCovariance(panel, n, matrix);
      engine.symmetricEigen(matrix, n, result, vectors);
      for (let k = 0; k < n; k++) {
        if (roots[k] === 0 || result[k]! <= valueMin) continue;
        let variance = 0;
        for (let i = 0; i < n; i++) variance += vectors[k * n + i]! ** 2 * roots[i]! * roots[i]!;
        ratios[k]! += variance / result[k]! / simulations;
      }
    }
  });
  return ratios.map((ratio) => (ratio > 0 ? Math.sqrt(ratio) : 1));
}

/** Ratio of the bias of actual returns to the simulated bias. Actual returns are neither normal nor stationary. */
const BIAS_SCALE = 1.4;

/**
 * Adjusts the eigenvalues of a covariance for their bias and keeps its eigenvectors.
 *
 * @param engine   Engine that solves.
 * @param matrix   [n x n] row-major, symmetric positive semi-definite; overwritten.
 * @param n        Order, at least 1.
 * @param request  Number of observations behind the matrix, and number of samples.
 * @returns        Nothing; the covariance is in `matrix`, exactly symmetric.
 * @throws         KernelFault in the cases of `estimateEigenvalueBias`; Error if the matrix is not finite.
 * @cost           Cost of `estimateEigenvalueBias`, and n^3.
 * @source         As `estimateEigenvalueBias`: v becomes 1.4 (v - 1) + 1.
 */
export function adjustEigenvalues(
  engine: Pick<Engine, 'symmetricEigen' | 'allocate' | 'scope'> & RebuildingEngine,
  matrix: Float64Array,
  n: number,
  request: BiasRequest,
): void {
  replaceEigenvalues(engine, matrix, n, (values) => {
    const variances = values.map((value) => Math.max(0, value));
    const biases = estimateEigenvalueBias(engine, variances, request);
    return variances.map((variance, k) => variance * (BIAS_SCALE * (biases[k]! - 1) + 1) ** 2);
  });
}

/**
 * Computes the effective number of observations: with equal weights, this number would give an estimate the same
 * variance as the given weights.
 *
 * @param weights  [observations] summing to 1.
 * @returns        1 over the sum of squares, rounded, at least 2.
 * @throws         Never.
 * @cost           O(observations).
 * @source         Kish (1965), Survey Sampling: effective sample size.
 */
export function countEffectiveObservations(weights: Float64Array): number {
  return Math.max(2, Math.round(1 / weights.reduce((sum, weight) => sum + weight * weight, 0)));
}
