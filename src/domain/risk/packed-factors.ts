import type { FactorModel } from './factor-model.js';

/** A factor model as numbers to store: exposures [n x K], factor covariance [K x K], specific variances [n]. */
export function packFactors({ exposures, covariance, specific }: FactorModel): Float64Array<ArrayBuffer> {
  const packed = new Float64Array(exposures.length + covariance.length + specific.length);
  packed.set(exposures);
  packed.set(covariance, exposures.length);
  packed.set(specific, exposures.length + covariance.length);
  return packed;
}

/** @param n names of the model. @throws Error when the length is not that of so many names and factors */
export function packedFactors(packed: Float64Array, factors: readonly string[], n: number): FactorModel {
  const K = factors.length;
  if (packed.length !== n * K + K * K + n) throw new Error(`${packed.length} numbers for ${n} names and ${K} factors`);
  const exposures = packed.subarray(0, n * K);
  const covariance = packed.subarray(n * K, n * K + K * K);
  return { factors, exposures, covariance, specific: packed.subarray(n * K + K * K) };
}
