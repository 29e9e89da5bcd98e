import type { Engine } from '#kernels/engines/engine.js';
import { lowRankCovariance } from '#kernels/moments/low-rank-covariance.js';
import { principalComponents } from '#kernels/moments/principal-components.js';
import { LIMITS } from '../limits.js';
import type { FactorModel } from './factor-risk.js';

/**
 * The first principal components of the annualised sample covariance as factors: unit eigenvectors are exposures, eigenvalues the
 * factor variances, and what they leave of each variance is the name's own.
 * @param panel [T x n] returns; spent.
 * @param factors components wanted; there are at most as many as names.
 */
export function principalFactors(engine: Engine, panel: Float64Array, n: number, factors: number): FactorModel {
  const K = Math.min(factors, n);
  const sample = lowRankCovariance(engine, panel, n, { target: 'scaled_identity', intensity: 0, method: 'shape', scale: LIMITS.PERIODS_PER_YEAR });
  const { values, vectors } = principalComponents(engine, panel, n, K);
  const exposures = new Float64Array(n * K);
  const specific = sample.variances.map((variance) => variance * LIMITS.PERIODS_PER_YEAR);
  const covariance = new Float64Array(K * K);
  for (let k = 0; k < K; k++) {
    const variance = values[k]! * LIMITS.PERIODS_PER_YEAR;
    covariance[k * (K + 1)] = variance;
    for (let i = 0; i < n; i++) {
      const exposure = vectors[k * n + i]!;
      exposures[i * K + k] = exposure;
      specific[i] = Math.max(0, specific[i]! - variance * exposure * exposure);
    }
  }
  return { factors: Array.from({ length: K }, (_, k) => `PC${k + 1}`), exposures, covariance, specific };
}
