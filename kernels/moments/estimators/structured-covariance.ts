import type { Engine } from '../../engines/engine.js';
import { demean } from '../demean.js';
import { adjustEigenvalues, countEffectiveObservations } from '../eigenvalue-bias.js';
import { denoise } from './denoise.js';
import { estimateGerber } from './gerber.js';
import { estimateNeweyWest } from './newey-west.js';
import { shrinkEigenvalues } from './nonlinear-shrinkage.js';
import { replaceEigenvalues } from './rebuild.js';

/** Names of the estimators without a shrinkage target. */
export const STRUCTURED_ESTIMATORS = ['nonlinear', 'gerber', 'denoised', 'newey_west'] as const;
export type StructuredEstimator = (typeof STRUCTURED_ESTIMATORS)[number];

export interface StructuredRequest {
  readonly estimator: StructuredEstimator;
  /** Threshold of a joint move in standard deviations, used by `gerber`. */
  readonly threshold: number;
  /** Number of lags, used by `newey_west`. */
  readonly lags: number;
  /**
   * Number of samples drawn to adjust the eigenvalues for their bias, used by `newey_west`; no adjustment if absent.
   */
  readonly simulations?: number | undefined;
  /** Weights of the observations, [observations], summing to 1, used by `newey_west`; equal if absent. */
  readonly weights?: Float64Array;
  /** Scale of the covariance: the number of periods per year. */
  readonly scale: number;
}

/**
 * Estimates a covariance by an estimator without a shrinkage target.
 *
 * @param engine   Engine that computes.
 * @param panel    [observations x assets] row-major returns, finite; overwritten.
 * @param assets   Columns of `panel`, at least 1.
 * @param request  The estimator and its settings.
 * @param out      [assets x assets] row-major, overwritten; symmetric.
 * @returns        Nothing; the covariance is in `out`.
 * @throws         KernelFault on a shape mismatch; Error if the panel is not finite.
 * @cost           observations * assets^2 / 2 per product; eigenpairs for `nonlinear` and `denoised`.
 * @source         See the estimators.
 */
export function estimateStructuredCovariance(
  engine: Engine,
  panel: Float64Array,
  assets: number,
  { estimator, threshold, lags, simulations, weights, scale }: StructuredRequest,
  out: Float64Array,
): void {
  const returns = estimator === 'gerber' ? panel.slice() : panel;
  const decayWeights = estimator === 'newey_west' ? weights : undefined;
  const { rowFactors } = demean(panel, assets, decayWeights, new Float64Array(assets), engine);
  if (estimator === 'newey_west') estimateNeweyWest(engine, panel, { assets, lags }, out);
  else engine.symmetricRankK(panel, assets, out);
  const deviations = Float64Array.from({ length: assets }, (_, i) => Math.sqrt(Math.max(0, out[i * (assets + 1)]!)));
  if (estimator === 'nonlinear')
    replaceEigenvalues(engine, out, assets, (values) => shrinkEigenvalues(values, rowFactors.length - 1));
  if (estimator === 'denoised') {
    scaleBy(out, deviations, (a, b) => (a * b > 0 ? 1 / (a * b) : 0));
    for (let i = 0; i < assets; i++) out[i * (assets + 1)] = 1;
    replaceEigenvalues(engine, out, assets, (values) => denoise(values, rowFactors.length).values);
    const unit = Float64Array.from(deviations, (_, i) => Math.sqrt(out[i * (assets + 1)]!));
    scaleBy(out, deviations, (a, b, i, j) => (a * b) / (unit[i]! * unit[j]!));
  }
  if (estimator === 'gerber') {
    estimateGerber(engine, returns, { deviations, threshold }, out);
    scaleBy(out, deviations, (a, b) => a * b);
  }
  if (estimator === 'newey_west' && simulations !== undefined) {
    const observations = decayWeights === undefined ? rowFactors.length : countEffectiveObservations(decayWeights);
    adjustEigenvalues(engine, out, assets, { observations, simulations });
  }
  for (let k = 0; k < out.length; k++) out[k]! *= scale;
}

function scaleBy(
  matrix: Float64Array,
  deviations: Float64Array,
  factor: (a: number, b: number, i: number, j: number) => number,
): void {
  const n = deviations.length;
  for (let i = 0; i < n; i++)
    for (let j = i; j < n; j++) {
      const value = matrix[i * n + j]! * factor(deviations[i]!, deviations[j]!, i, j);
      matrix[i * n + j] = value;
      matrix[j * n + i] = value;
    }
}
