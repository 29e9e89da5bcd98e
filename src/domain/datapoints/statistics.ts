import { isConstant, select, sortByBits } from '../base/numbers.js';
import type { Aggregate, Transform } from './fields.js';

/**
 * Windows of some securities. The cells of a window are contiguous and in time order, NaN on sessions without a value.
 */
export interface Windows {
  readonly cells: Float64Array;
  /** First cell of each window, [n]. */
  readonly starts: Int32Array;
  readonly length: number;
  /** Minimum number of values of a statistic, at least 1. With fewer values the statistic is missing. */
  readonly enough: number;
}

/**
 * Function that computes a statistic of the values of each window.
 * @param out [n], overwritten; NaN if there are too few values.
 */
export type Statistic = (windows: Windows, out: Float64Array) => void;

export const STATISTICS: Readonly<Record<Exclude<Aggregate, 'last' | 'count'>, Statistic>> = {
  mean: mapValues((cells, from, to, enough) => {
    const result = countValues(cells, from, to);
    return result < enough ? NaN : sumValues(cells, from, to) / result;
  }),
  median: mapValues(writeMedian),
  sum: mapValues((cells, from, to, enough) =>
    countValues(cells, from, to) < enough ? NaN : sumValues(cells, from, to),
  ),
  min: mapValues((cells, from, to, enough) =>
    countValues(cells, from, to) < enough ? NaN : findLeast(cells, from, to),
  ),
  max: mapValues((cells, from, to, enough) =>
    countValues(cells, from, to) < enough ? NaN : findGreatest(cells, from, to),
  ),
  std: fillWindowDeviations,
};

/** Function that computes the statistic of one window, the cells from `from` to `to` (exclusive). */
type WindowStatistic = (cells: Float64Array, from: number, to: number, enough: number) => number;

function mapValues(ofOne: WindowStatistic): Statistic {
  return ({ cells, starts, length, enough }, out) => {
    for (let k = 0; k < starts.length; k++) out[k] = ofOne(cells, starts[k]!, starts[k]! + length, enough);
  };
}

function countValues(cells: Float64Array, from: number, to: number): number {
  let missingCount = 0;
  for (let i = from; i < to; i++) if (Number.isNaN(cells[i]!)) missingCount++;
  return to - from - missingCount;
}

function sumValues(cells: Float64Array, from: number, to: number): number {
  let total = 0;
  for (let i = from; i < to; i++) {
    const value = cells[i]!;
    if (value === value) total += value;
  }
  return total;
}

function findLeast(cells: Float64Array, from: number, to: number): number {
  let least = Infinity;
  for (let i = from; i < to; i++) if (cells[i]! < least) least = cells[i]!;
  return least;
}

function findGreatest(cells: Float64Array, from: number, to: number): number {
  let greatest = -Infinity;
  for (let i = from; i < to; i++) if (cells[i]! > greatest) greatest = cells[i]!;
  return greatest;
}

/**
 * Computes the product of the values. Two windows are processed at a time to overlap the latency of multiplications.
 */
export function computeProduct({ cells, starts, length, enough }: Windows, out: Float64Array): void {
  for (let k = 0; k < starts.length; k += 2) {
    const a = starts[k]!;
    const b = starts[Math.min(k + 1, starts.length - 1)]!;
    let countA = 0;
    let countB = 0;
    let totalA = 1;
    let totalB = 1;
    for (let i = 0; i < length; i++) {
      const valueA = cells[a + i]!;
      const valueB = cells[b + i]!;
      if (valueA === valueA) {
        totalA *= valueA;
        countA++;
      }
      if (valueB === valueB) {
        totalB *= valueB;
        countB++;
      }
    }
    if (k + 1 < starts.length) out[k + 1] = countB < enough ? NaN : totalB;
    out[k] = countA < enough ? NaN : totalA;
  }
}

/**
 * Computes the sample standard deviation (ddof 1). It is NaN for fewer than two values. The first value is subtracted
 * before summing, so that a constant series gives exactly 0. Because that value belongs to the sample, accuracy
 * decreases by at most a factor of the count. Two windows are processed at a time to overlap the latency of additions.
 */
export function fillWindowDeviations({ cells, starts, length, enough }: Windows, out: Float64Array): void {
  const least = Math.max(2, enough);
  for (let k = 0; k < starts.length; k += 2) {
    const a = starts[k]!;
    const b = starts[Math.min(k + 1, starts.length - 1)]!;
    const firstA = findFirstValue(cells, a, length);
    const firstB = findFirstValue(cells, b, length);
    let countA = 0;
    let countB = 0;
    let sumA = 0;
    let sumB = 0;
    let squareA = 0;
    let squareB = 0;
    for (let i = 0; i < length; i++) {
      const distanceA = cells[a + i]! - firstA;
      const distanceB = cells[b + i]! - firstB;
      if (distanceA === distanceA) {
        sumA += distanceA;
        squareA += distanceA * distanceA;
        countA++;
      }
      if (distanceB === distanceB) {
        sumB += distanceB;
        squareB += distanceB * distanceB;
        countB++;
      }
    }
    if (k + 1 < starts.length) out[k + 1] = countB < least ? NaN : computeSampleDeviation(squareB, sumB, countB);
    out[k] = countA < least ? NaN : computeSampleDeviation(squareA, sumA, countA);
  }
}

/** Returns the first value of a window. Returns NaN if the window has no value. */
function findFirstValue(cells: Float64Array, from: number, length: number): number {
  let i = from;
  while (i < from + length - 1 && Number.isNaN(cells[i]!)) i++;
  return cells[i]!;
}

function computeSampleDeviation(squares: number, sum: number, count: number): number {
  return Math.sqrt(Math.max(0, (squares - (sum * sum) / count) / (count - 1)));
}

/** Scratch for the values of one window while their median is selected. */
let sortBuffer = new Float64Array(256);

/** Returns the median. For an even count, this is the mean of the two middle values. */
function writeMedian(cells: Float64Array, from: number, to: number, enough: number): number {
  if (sortBuffer.length < to - from) sortBuffer = new Float64Array(2 * (to - from));
  let count = 0;
  for (let i = from; i < to; i++) {
    const value = cells[i]!;
    if (value === value) sortBuffer[count++] = value;
  }
  return count < enough ? NaN : computeMedianInPlace(sortBuffer, count);
}

/** Maximum number of values for which the median is selected without buckets. */
const SMALL_SAMPLE_MAX = 24;

/**
 * Number of buckets into which values are sorted by size. For a year of values the middle bucket has about four values.
 */
const BUCKETS = 64;

const bucketCounts = new Int32Array(BUCKETS);

/**
 * Returns the median of the first values of a buffer, which is reordered. Values are sorted into buckets by size, and
 * the median is selected only among the values of its bucket.
 * @cost O(count) on average
 */
export function computeMedianInPlace(values: Float64Array, count: number): number {
  const upper = count >> 1;
  if (count <= SMALL_SAMPLE_MAX) return selectMiddle(values, { from: 0, to: count - 1, upper, count });
  let least = values[0]!;
  let largest = least;
  for (let i = 1; i < count; i++) {
    const value = values[i]!;
    if (value < least) least = value;
    if (value > largest) largest = value;
  }
  const scale = (BUCKETS - 1) / (largest - least);
  // Equal values have no middle bucket, and infinite values have no bucket width.
  if (!(scale > 0 && scale < Infinity)) return selectMiddle(values, { from: 0, to: count - 1, upper, count });
  bucketCounts.fill(0);
  for (let i = 0; i < count; i++) bucketCounts[((values[i]! - least) * scale) | 0]!++;
  // For an even count the bucket of the lower middle value is searched first. All values up to the upper middle value
  // are in this bucket or just above it.
  let bucket = 0;
  let belowCount = 0;
  const lower = count % 2 === 0 ? upper - 1 : upper;
  while (belowCount + bucketCounts[bucket]! <= lower) belowCount += bucketCounts[bucket++]!;
  let last = bucket;
  let reachedCount = belowCount + bucketCounts[bucket]!;
  while (reachedCount <= upper) reachedCount += bucketCounts[++last]!;
  let retainedCount = 0;
  for (let i = 0; i < count; i++) {
    const value = values[i]!;
    const position = ((value - least) * scale) | 0;
    values[retainedCount] = value;
    retainedCount += Number(position >= bucket) & Number(position <= last);
  }
  return selectMiddle(values, { from: 0, to: retainedCount - 1, upper: upper - belowCount, count });
}

interface Middle {
  readonly from: number;
  readonly to: number;
  /** Rank of the upper middle value among the values of the range. */
  readonly upper: number;
  /** Number of all values, inside or outside the range. */
  readonly count: number;
}

function selectMiddle(values: Float64Array, { from, to, upper, count }: Middle): number {
  const high = select(values, { from, to, position: upper });
  if (count % 2 === 1) return high;
  let low = values[from]!; // after the selection, all values before `upper` are at most `high`
  for (let i = from + 1; i < upper; i++) if (values[i]! > low) low = values[i]!;
  return (low + high) / 2;
}

/** Number of values sorted by insertion before merging. */
const RUN_LENGTH_MIN = 12;

/** Minimum number of values that are sorted by their bits; fewer values are sorted faster by merging. */
const BITS_MIN = 1500;

/**
 * Returns positions in order of their values, best first. Equal values keep the given order, and missing values are
 * last. If positions ascend with identifiers, the earlier identifier comes first among equal values.
 * @param positions Indices of values, [n].
 * @returns [n]
 * @cost O(n log n), on typed arrays
 */
export function rankPositions(values: Float64Array, positions: Int32Array, isAscending: boolean): Int32Array {
  const n = positions.length;
  const sign = isAscending ? 1 : -1;
  let order = new Int32Array(n);
  let keys = new Float64Array(n);
  let presentCount = 0;
  let missingStart = n;
  for (let i = n - 1; i >= 0; i--) if (Number.isNaN(values[positions[i]!]!)) order[--missingStart] = positions[i]!;
  for (let i = 0; i < n; i++) {
    const value = values[positions[i]!]!;
    if (Number.isNaN(value)) continue;
    order[presentCount] = positions[i]!;
    keys[presentCount++] = sign * value + 0; // converts -0 to 0
  }
  if (presentCount >= BITS_MIN) {
    order.set(sortByBits(keys.subarray(0, presentCount), order));
    return order;
  }
  sortRuns(keys, order, presentCount);
  let nextOrder = new Int32Array(n);
  let nextKeys = new Float64Array(n);
  for (let width = RUN_LENGTH_MIN; width < presentCount; width *= 2) {
    mergeRuns({ keys, order, nextKeys, nextOrder, count: presentCount, width });
    nextOrder.set(order.subarray(missingStart), missingStart);
    [keys, nextKeys] = [nextKeys, keys];
    [order, nextOrder] = [nextOrder, order];
  }
  return order;
}

function sortRuns(keys: Float64Array, order: Int32Array, count: number): void {
  for (let start = 0; start < count; start += RUN_LENGTH_MIN) {
    const stop = Math.min(count, start + RUN_LENGTH_MIN);
    for (let i = start + 1; i < stop; i++) {
      const key = keys[i]!;
      const position = order[i]!;
      let j = i - 1;
      for (; j >= start && keys[j]! > key; j--) {
        keys[j + 1] = keys[j]!;
        order[j + 1] = order[j]!;
      }
      keys[j + 1] = key;
      order[j + 1] = position;
    }
  }
}

interface Merge {
  readonly keys: Float64Array;
  readonly order: Int32Array;
  readonly nextKeys: Float64Array;
  readonly nextOrder: Int32Array;
  readonly count: number;
  /** Length of the sorted runs to merge. */
  readonly width: number;
}

function mergeRuns({ keys, order, nextKeys, nextOrder, count, width }: Merge): void {
  for (let start = 0; start < count; start += 2 * width) {
    const middle = Math.min(start + width, count);
    const stop = Math.min(middle + width, count);
    let left = start;
    let right = middle;
    for (let out = start; out < stop; out++) {
      const isLeft = right >= stop || (left < middle && keys[left]! <= keys[right]!);
      const from = isLeft ? left++ : right++;
      nextKeys[out] = keys[from]!;
      nextOrder[out] = order[from]!;
    }
  }
}

export function createPositions({ length }: ArrayLike<unknown>): Int32Array {
  const positions = new Int32Array(length);
  for (let i = 0; i < length; i++) positions[i] = i;
  return positions;
}

export function selectPositionsWithValue(values: Float64Array, positions: Int32Array): Int32Array {
  let count = 0;
  const presentPositions = new Int32Array(positions.length);
  for (let i = 0; i < positions.length; i++)
    if (!Number.isNaN(values[positions[i]!]!)) presentPositions[count++] = positions[i]!;
  return presentPositions.subarray(0, count);
}

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
  const order = rankPositions(values, selectPositionsWithValue(values, createPositions(values)), false);
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
  const presentCount = selectPositionsWithValue(values, createPositions(values)).length;
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
  const order = rankPositions(values, selectPositionsWithValue(values, createPositions(values)), false);
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
