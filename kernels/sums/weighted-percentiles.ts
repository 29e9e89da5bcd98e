import { assert } from '../assert.js';

export interface WeightedValues {
  /** Values, NaN if missing, at least [count]. */
  readonly values: Float64Array;
  /** Weights of either sign, at least [count]. */
  readonly weights: Float64Array;
  readonly count: number;
}

/** Number of results before the percentiles: the mean, and the fraction of the weights that have a value. */
export const AVERAGE_COUNT = 2;

/** Tolerance for rounding errors of cumulative weights. With it, sums of equal weights reach a share exactly. */
const SLACK_SHARE = 1e-12;

/**
 * Computes the mean, the coverage and percentiles of weighted values.
 *
 * @param weightedValues      The values and their weights.
 * @param shares  Ascending, from 0 to 1.
 * @param out     [2 + shares], overwritten: the mean by the weights with their signs, NaN if these add up to 0; the
 *                share of the weights, by their magnitude, that has a value; for each share the least value at or below
 *                which that share of the magnitudes lies, NaN if no weight has a value.
 * @throws        KernelFault on a shape mismatch.
 * @cost          O(n log n); engines part the range of the values instead, O(n) on average.
 * @source        Definition. Mean and coverage have the same bits on every engine, and so have percentiles whose share is
 *                not within rounding, 1e-15 of the weights, of the slack of 1e-12 below it.
 */
export function computeWeightedPercentiles(
  weightedValues: WeightedValues,
  shares: Float64Array,
  out: Float64Array,
): void {
  assertPercentiles(weightedValues, shares, out);
  const { values, weights, count } = weightedValues;
  const positions: number[] = [];
  let [gross, covered, total, sum] = [0, 0, 0, 0];
  for (let i = 0; i < count; i++) {
    const weight = weights[i]!;
    if (weight === 0) continue;
    gross += Math.abs(weight);
    const value = values[i]!;
    if (value !== value) continue;
    covered += Math.abs(weight);
    total += weight;
    sum += weight * value;
    positions.push(i);
  }
  out.fill(NaN);
  out[0] = total === 0 ? NaN : sum / total;
  out[1] = gross === 0 ? 0 : covered / gross;
  positions.sort((a, b) => (values[a]! < values[b]! ? -1 : values[a]! > values[b]! ? 1 : 0));
  let cumulativeWeight = 0;
  let share = 0;
  for (const i of positions) {
    cumulativeWeight += Math.abs(weights[i]!);
    while (share < shares.length && cumulativeWeight >= shares[share]! * covered * (1 - SLACK_SHARE))
      out[AVERAGE_COUNT + share++] = values[i]!;
  }
  if (positions.length > 0) out.fill(values[positions.at(-1)!]!, AVERAGE_COUNT + share);
}

/**
 * Checks the arguments. @throws KernelFault @cost no messages are built unless a check fails, because it runs once per
 * date and datapoint
 */
export function assertPercentiles(
  { values, weights, count }: WeightedValues,
  shares: Float64Array,
  out: Float64Array,
): void {
  if (count > values.length || count > weights.length)
    assert(false, `count: ${count} of ${values.length} and ${weights.length}`);
  if (out.length !== AVERAGE_COUNT + shares.length)
    assert(false, `out: ${out.length} figures for ${shares.length} shares`);
}
