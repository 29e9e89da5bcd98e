import { lastAtMost } from '../../search.js';
import type { Transform } from './field-request.js';

/**
 * A cross-sectional transform of the values of the current survivors, missing ones left missing.
 *
 * @param values [n], NaN where missing.
 * @returns      [n]: rank = 1 + count of strictly larger values; percentile = (m - rank)/(m - 1) over the m values, 1 when m = 1;
 *               z-score with the population deviation, 0 when that is 0.
 * @cost         O(n log n) for ranks, O(n) for z-scores.
 */
export function transformed(values: Float64Array, transform: Transform): Float64Array {
  switch (transform) {
    case 'none': return values;
    case 'rank': return ranks(values);
    case 'percentile': return percentiles(values);
    case 'zscore': return zScores(values);
  }
}

function ranks(values: Float64Array): Float64Array {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  return values.map((value) => (Number.isNaN(value) ? NaN : 1 + sorted.length - (lastAtMost(sorted, value) + 1)));
}

function percentiles(values: Float64Array): Float64Array {
  const present = values.reduce((count, value) => count + (Number.isNaN(value) ? 0 : 1), 0);
  return ranks(values).map((rank) => (present === 1 && rank === 1 ? 1 : (present - rank) / (present - 1)));
}

/** Population z-scores over the values that are there. */
export function zScores(values: Float64Array): Float64Array {
  const present = values.filter((value) => !Number.isNaN(value));
  if (present.length === 0) return values;
  const origin = present[0]!;
  const mean = origin + present.reduce((total, value) => total + (value - origin), 0) / present.length;
  const variance = present.reduce((total, value) => total + (value - mean) ** 2, 0) / present.length;
  const deviation = Math.sqrt(variance);
  return values.map((value) => (Number.isNaN(value) ? NaN : deviation === 0 ? 0 : (value - mean) / deviation));
}
