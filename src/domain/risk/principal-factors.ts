import type { Engine } from '#kernels/engines/engine.js';
import { estimateLowRankCovariance } from '#kernels/moments/low-rank-covariance.js';
import { computePrincipalComponents, type PrincipalComponents } from '#kernels/moments/principal-components.js';
import { LIMITS } from '../refusals/limits.js';
import type { FactorModel } from './factor-model.js';

/**
 * Number of components that are always computed and cached. It is the maximum of a request, so a request for another
 * number needs no new computation.
 */
export const CACHED_COMPONENTS = 20;

/** Principal components and variances. From these, a statistical model with any number of factors can be formed. */
export interface PrincipalParts extends PrincipalComponents {
  /** Sample variances of the securities, [n]. */
  readonly variances: Float64Array;
}

/**
 * Computes the first principal components of the sample covariance, and the sample variances.
 * @param panel [T x n] returns; overwritten.
 * @param count number of components; at most the number of securities.
 * @cost an eigenproblem of min(T, n) and a product of the panel with itself
 */
export function computePrincipalParts(engine: Engine, panel: Float64Array, n: number, count: number): PrincipalParts {
  const { variances } = estimateLowRankCovariance(engine, panel, n, {
    target: 'scaled_identity',
    intensity: 0,
    method: 'shape',
    scale: LIMITS.PERIODS_PER_YEAR,
  });
  return { ...computePrincipalComponents(engine, panel, n, Math.min(count, n)), variances };
}

/**
 * Returns the first principal components of the annualised sample covariance as a factor model. Unit eigenvectors are
 * the exposures and eigenvalues the factor variances. The remainders of the variances are specific.
 * @param factorCount number of components; at most the number of securities.
 * @param periodsPerYear sessions of a year.
 */
export function computePrincipalFactors(
  { values, vectors, variances }: PrincipalParts,
  factorCount: number,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): FactorModel {
  const n = variances.length;
  const K = Math.min(factorCount, n);
  const exposures = new Float64Array(n * K);
  const specific = variances.map((variance) => variance * periodsPerYear);
  const covariance = new Float64Array(K * K);
  for (let k = 0; k < K; k++) {
    const variance = values[k]! * periodsPerYear;
    covariance[k * (K + 1)] = variance;
    for (let i = 0; i < n; i++) {
      const exposure = vectors[k * n + i]!;
      exposures[i * K + k] = exposure;
      specific[i] = Math.max(0, specific[i]! - variance * exposure * exposure);
    }
  }
  return { factors: Array.from({ length: K }, (_, k) => `PC${k + 1}`), exposures, covariance, specific };
}
