import { select } from '../numbers/select.js';
import type { Aggregate } from './field-request.js';

/**
 * Windows of some securities. The cells of a window are contiguous and in time order, NaN on sessions without a value.
 */
export interface Windows {
  readonly cells: Float64Array;
  /** First cell of each window, [n]. */
  readonly starts: Int32Array;
  /** Number of cells in a window. */
  readonly length: number;
  /** Minimum number of values of a statistic, at least 1. With fewer values the statistic is missing. */
  readonly enough: number;
}

/**
 * Function that computes a statistic of the values of each window.
 * @param out [n], overwritten; NaN if there are too few values.
 */
export type Statistic = (windows: Windows, out: Float64Array) => void;

/** Statistics of aggregates that read all values of a window. */
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
  std: computeDeviation,
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
export function computeDeviation({ cells, starts, length, enough }: Windows, out: Float64Array): void {
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
  return count < enough ? NaN : computeMedian(sortBuffer, count);
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
export function computeMedian(values: Float64Array, count: number): number {
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
