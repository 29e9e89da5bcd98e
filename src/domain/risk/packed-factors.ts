import type { FactorModel } from './factor-model.js';

/** Packs a factor model for storage: exposures [n x K], factor covariance [K x K], specific variances [n]. */
export function packFactors({ exposures, covariance, specific }: FactorModel): Float64Array<ArrayBuffer> {
  const packedNumbers = new Float64Array(exposures.length + covariance.length + specific.length);
  packedNumbers.set(exposures);
  packedNumbers.set(covariance, exposures.length);
  packedNumbers.set(specific, exposures.length + covariance.length);
  return packedNumbers;
}

/**
 * Returns the factor model from its packed form.
 * @param n number of securities in the model.
 * @throws Error if the length does not match
 */
export function openPackedFactors(packed: Float64Array, factors: readonly string[], n: number): FactorModel {
  const K = factors.length;
  if (packed.length !== n * K + K * K + n)
    throw new Error(`${packed.length} numbers for ${n} securities and ${K} factors`);
  const exposures = packed.subarray(0, n * K);
  const covariance = packed.subarray(n * K, n * K + K * K);
  return { factors, exposures, covariance, specific: packed.subarray(n * K + K * K) };
}
