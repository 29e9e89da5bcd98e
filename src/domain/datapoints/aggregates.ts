import { select } from '../numbers/select.js';
import type { Aggregate } from './field-request.js';

/** Windows of some securities, the cells of each window together and in time order, NaN on sessions without a value. */
export interface Windows {
  readonly cells: Float64Array;
  /** First cell of each window, [n]. */
  readonly starts: Int32Array;
  /** Number of cells in a window. */
  readonly length: number;
  /** Number of values below which a statistic is missing, at least 1. */
  readonly enough: number;
}

/**
 * Statistic of the values of each window.
 * @param out [n], overwritten; NaN if there are too few values.
 */
export type Statistic = (windows: Windows, out: Float64Array) => void;

/** Every aggregate over a window that reads the values. */
export const STATISTICS: Readonly<Record<Exclude<Aggregate, 'last' | 'count'>, Statistic>> = {
  mean: applyToEach((cells, from, to, enough) => {
    const result = countOf(cells, from, to);
    return result < enough ? NaN : sumOf(cells, from, to) / result;
  }),
  median: applyToEach(median),
  sum: applyToEach((cells, from, to, enough) => (countOf(cells, from, to) < enough ? NaN : sumOf(cells, from, to))),
  min: applyToEach((cells, from, to, enough) => (countOf(cells, from, to) < enough ? NaN : leastOf(cells, from, to))),
  max: applyToEach((cells, from, to, enough) =>
    countOf(cells, from, to) < enough ? NaN : greatestOf(cells, from, to),
  ),
  std: computeDeviation,
};

/** Computes the statistic of one window, the cells from `from` to `to` (exclusive). */
type OfOne = (cells: Float64Array, from: number, to: number, enough: number) => number;

function applyToEach(ofOne: OfOne): Statistic {
  return ({ cells, starts, length, enough }, out) => {
    for (let k = 0; k < starts.length; k++) out[k] = ofOne(cells, starts[k]!, starts[k]! + length, enough);
  };
}

function countOf(cells: Float64Array, from: number, to: number): number {
  let missing = 0;
  for (let i = from; i < to; i++) if (Number.isNaN(cells[i]!)) missing++;
  return to - from - missing;
}

function sumOf(cells: Float64Array, from: number, to: number): number {
  let total = 0;
  for (let i = from; i < to; i++) {
    const value = cells[i]!;
    if (value === value) total += value;
  }
  return total;
}

function leastOf(cells: Float64Array, from: number, to: number): number {
  let least = Infinity;
  for (let i = from; i < to; i++) if (cells[i]! < least) least = cells[i]!;
  return least;
}

function greatestOf(cells: Float64Array, from: number, to: number): number {
  let greatest = -Infinity;
  for (let i = from; i < to; i++) if (cells[i]! > greatest) greatest = cells[i]!;
  return greatest;
}

/** Multiplies the values. Two windows are processed at a time, so that neither waits for its last multiplication. */
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
 * Computes the sample standard deviation (ddof 1), NaN for fewer than two values. Sums are taken about the first value,
 * so that a constant series gives exactly 0. Because that value is in the sample, the difference of the sums loses
 * accuracy by at most a factor of the count. Two windows are processed at a time to overlap the latency of additions.
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
    if (k + 1 < starts.length) out[k + 1] = countB < least ? NaN : rootOfVariance(squareB, sumB, countB);
    out[k] = countA < least ? NaN : rootOfVariance(squareA, sumA, countA);
  }
}

/** Returns the first value of a window; NaN if it has none. */
function findFirstValue(cells: Float64Array, from: number, length: number): number {
  let i = from;
  while (i < from + length - 1 && Number.isNaN(cells[i]!)) i++;
  return cells[i]!;
}

function rootOfVariance(squares: number, sum: number, count: number): number {
  return Math.sqrt(Math.max(0, (squares - (sum * sum) / count) / (count - 1)));
}

/** Memory for the values of one window while their median is selected. */
let scratch = new Float64Array(256);

/** Returns the median; for an even count, the mean of the two middle values. */
function median(cells: Float64Array, from: number, to: number, enough: number): number {
  if (scratch.length < to - from) scratch = new Float64Array(2 * (to - from));
  let count = 0;
  for (let i = from; i < to; i++) {
    const value = cells[i]!;
    if (value === value) scratch[count++] = value;
  }
  return count < enough ? NaN : computeMedian(scratch, count);
}

/** Number of values up to which buckets are not worth clearing. */
const FEW = 24;

/**
 * Number of buckets into which values are sorted by size. The middle bucket of a year of values has about four of them.
 */
const BUCKETS = 64;

const inBucket = new Int32Array(BUCKETS);

/**
 * Returns the median of the first values of a buffer, which is reordered: only the values in the bucket of the median
 * are read twice.
 * @cost O(count) on average
 */
export function computeMedian(values: Float64Array, count: number): number {
  const upper = count >> 1;
  if (count <= FEW) return middleOf(values, { from: 0, to: count - 1, upper, count });
  let least = values[0]!;
  let most = least;
  for (let i = 1; i < count; i++) {
    const value = values[i]!;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const scale = (BUCKETS - 1) / (most - least);
  // Equal values have no middle bucket, and infinite values have no bucket width.
  if (!(scale > 0 && scale < Infinity)) return middleOf(values, { from: 0, to: count - 1, upper, count });
  inBucket.fill(0);
  for (let i = 0; i < count; i++) inBucket[((values[i]! - least) * scale) | 0]!++;
  // For an even count the bucket of the lower middle is searched first: the values up to the upper one are in it or
  // just above.
  let bucket = 0;
  let below = 0;
  const lower = count % 2 === 0 ? upper - 1 : upper;
  while (below + inBucket[bucket]! <= lower) below += inBucket[bucket++]!;
  let last = bucket;
  let reached = below + inBucket[bucket]!;
  while (reached <= upper) reached += inBucket[++last]!;
  let retained = 0;
  for (let i = 0; i < count; i++) {
    const value = values[i]!;
    const at = ((value - least) * scale) | 0;
    values[retained] = value;
    retained += Number(at >= bucket) & Number(at <= last);
  }
  return middleOf(values, { from: 0, to: retained - 1, upper: upper - below, count });
}

interface Middle {
  readonly from: number;
  readonly to: number;
  /** Position of the upper middle among the sorted values of the range. */
  readonly upper: number;
  /** All values, in the range or not. */
  readonly count: number;
}

function middleOf(values: Float64Array, { from, to, upper, count }: Middle): number {
  const high = select(values, { from, to, position: upper });
  if (count % 2 === 1) return high;
  let low = values[from]!; // after the selection everything before `upper` is at most `high`
  for (let i = from + 1; i < upper; i++) if (values[i]! > low) low = values[i]!;
  return (low + high) / 2;
}
