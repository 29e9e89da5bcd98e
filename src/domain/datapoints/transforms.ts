import { listPositions, rankPositions, selectPositionsWithValue } from './ranking.js';
import { isConstant } from '../numbers/constant.js';
import type { Transform } from './field-request.js';

/**
 * Applies a cross-sectional transform to values. Missing values stay missing.
 * @param values [n], NaN if missing.
 * @returns [n]: rank = 1 + count of strictly larger values; percentile = (m - rank)/(m - 1) over the m values, 1 if m =
 * 1; z-score with the population deviation, 0 if the values are equal up to
 * rounding.
 * @cost O(n log n) for ranks, O(n) for z-scores.
 */
export function transformValues(values: Float64Array, transform: Transform): Float64Array {
  switch (transform) {
    case 'none':
      return values;
    case 'rank':
      return computeRanks(values);
    case 'percentile':
      return computePercentiles(values);
    case 'zscore':
      return computeZScores(values);
  }
}

function computeRanks(values: Float64Array): Float64Array {
  const result = new Float64Array(values.length).fill(NaN);
  const order = rankPositions(values, selectPositionsWithValue(values, listPositions(values)), false);
  let rank = 0;
  for (let i = 0; i < order.length; i++) {
    const value = values[order[i]!]!;
    if (i === 0 || value !== values[order[i - 1]!]!) rank = i + 1;
    result[order[i]!] = rank;
  }
  return result;
}

function computePercentiles(values: Float64Array): Float64Array {
  const result = computeRanks(values);
  const presentCount = selectPositionsWithValue(values, listPositions(values)).length;
  for (let i = 0; i < result.length; i++)
    result[i] = presentCount === 1 && result[i] === 1 ? 1 : (presentCount - result[i]!) / (presentCount - 1);
  return result;
}

/** Computes z-scores of the present values, with the population deviation. */
export function computeZScores(values: Float64Array): Float64Array {
  const { count, mean, deviation } = computeSpread(values);
  if (count === 0) return values;
  const scale = values.reduce((most, value) => (Math.abs(value) > most ? Math.abs(value) : most), 0);
  const isEqual = isConstant(deviation, scale);
  return values.map((value) => (Number.isNaN(value) ? NaN : isEqual ? 0 : (value - mean) / deviation));
}

/**
 * Computes for each value the fraction of the total that this value and all larger values make up. Equal values have
 * equal results. NaN if the total is 0.
 */
export function computeCumulativeShares(values: Float64Array): Float64Array {
  const result = new Float64Array(values.length).fill(NaN);
  const order = rankPositions(values, selectPositionsWithValue(values, listPositions(values)), false);
  const total = order.reduce((sum, i) => sum + values[i]!, 0);
  if (total === 0) return result;
  let sum = 0;
  let first = 0;
  order.forEach((i, k) => {
    sum += values[i]!;
    const isLastOfItsValue = k + 1 === order.length || values[order[k + 1]!] !== values[i];
    if (!isLastOfItsValue) return;
    for (; first <= k; first++) result[order[first]!] = sum / total;
  });
  return result;
}

/** Computes distances from the mean of the present values. */
export function subtractMean(values: Float64Array): Float64Array {
  const { mean } = computeSpread(values);
  return values.map((value) => value - mean);
}

export interface Spread {
  readonly count: number;
  readonly mean: number;
  /** Population deviation. */
  readonly deviation: number;
}

/** Computes mean and deviation of the present values; NaN if there are none. */
export function computeSpread(values: Float64Array): Spread {
  const presentValues = values.filter((value) => !Number.isNaN(value));
  const count = presentValues.length;
  if (count === 0) return { count, mean: NaN, deviation: NaN };
  const origin = presentValues[0]!;
  const mean = origin + presentValues.reduce((total, value) => total + (value - origin), 0) / count;
  const variance = presentValues.reduce((total, value) => total + (value - mean) ** 2, 0) / count;
  return { count, mean, deviation: Math.sqrt(variance) };
}
