import { assert } from '../assert.js';

/**
 * Computes exponential weights that halve every `halfLife` observations into the past.
 *
 * @param halfLife  Number of observations after which a weight has halved, above 0; Infinity gives equal weights.
 * @param out       Weights, [observations], overwritten; the last one is the largest, and the sum is 1.
 * @returns         Nothing; the weights are in `out`.
 * @throws          KernelFault if the half-life is not positive.
 * @cost            One multiplication and one division per observation; no scratch.
 * @source          RiskMetrics Technical Document, 4th ed. (1996), section 5.2, with decay 0.5^(1/half-life).
 */
export function fillHalfLifeWeights(halfLife: number, out: Float64Array): void {
  assert(halfLife > 0, `halfLife: ${halfLife}, more than 0 needed`);
  const decay = computeDecay(halfLife);
  let weight = 1;
  let total = 0;
  for (let t = out.length - 1; t >= 0; t--) {
    out[t] = weight;
    total += weight;
    weight *= decay;
  }
  for (let t = 0; t < out.length; t++) out[t]! /= total;
}

/** Computes the ratio of the weight of an observation to the weight of the next one. */
export function computeDecay(halfLife: number): number {
  return computePowerOfHalf(1 / halfLife);
}

/**
 * Computes 0.5^x for x >= 0 by repeated square roots. Every engine gives the same bits, unlike with Math.pow, whose
 * exact result the standard does not define. Whole halvings come from the exponent, and the fraction comes from its
 * binary digits.
 */
function computePowerOfHalf(x: number): number {
  const halvings = Math.floor(x);
  if (halvings > 1074) return 0;
  let result = 1;
  for (let k = 0; k < halvings; k++) result *= 0.5;
  let fraction = x - halvings;
  let root = 0.5;
  while (fraction > 0) {
    root = Math.sqrt(root);
    fraction *= 2;
    if (fraction >= 1) {
      result *= root;
      fraction -= 1;
    }
  }
  return result;
}
