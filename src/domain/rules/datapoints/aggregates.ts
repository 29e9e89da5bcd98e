import type { Aggregate } from './field-request.js';

/** Values of some names over the sessions of a window, one row a session. */
export interface WindowRows {
  /** Names in a row. */
  readonly names: number;
  /** Sessions in the window. */
  readonly height: number;
  /** Where the names lie in the cells of a row, [names]. */
  readonly at: Int32Array;
  /**
   * Visits the rows in time order: the value of name k is `cells[from + at[k]]`, NaN where it has none.
   * The rows of a stored panel are read where they lie, without a copy.
   */
  forEach(visit: (cells: Float64Array, from: number) => void): void;
}

/**
 * A statistic of each name's values, in time order.
 * @param counts [n], overwritten with the values each name has.
 * @returns      [n], anything where a name has no value
 */
export type Statistic = (rows: WindowRows, counts: Int32Array) => Float64Array;

/** Every aggregate over a window. */
export const STATISTICS: Readonly<Record<Exclude<Aggregate, 'last'>, Statistic>> = {
  mean,
  median: medians,
  sum,
  min: (rows, counts) => extremes(rows, counts, 1),
  max: (rows, counts) => extremes(rows, counts, -1),
  std: deviation,
  count,
};

function count({ at, names, forEach }: WindowRows, counts: Int32Array): Float64Array {
  counts.fill(0);
  forEach((cells, from) => {
    for (let k = 0; k < at.length; k++) {
      const value = cells[from + at[k]!]!;
      if (value === value) counts[k]!++;
    }
  });
  return Float64Array.from(counts.subarray(0, names));
}

function sum(rows: WindowRows, counts: Int32Array): Float64Array {
  const { at } = rows;
  const total = new Float64Array(rows.names);
  counts.fill(0);
  rows.forEach((cells, from) => {
    for (let k = 0; k < at.length; k++) {
      const value = cells[from + at[k]!]!;
      if (value !== value) continue;
      total[k]! += value;
      counts[k]!++;
    }
  });
  return total;
}

function mean(rows: WindowRows, counts: Int32Array): Float64Array {
  const total = sum(rows, counts);
  for (let k = 0; k < total.length; k++) total[k]! /= counts[k]!;
  return total;
}

/** The least value for a sign of 1, the greatest for -1. */
function extremes(rows: WindowRows, counts: Int32Array, sign: 1 | -1): Float64Array {
  const { at } = rows;
  const extreme = new Float64Array(rows.names).fill(sign * Infinity);
  counts.fill(0);
  rows.forEach((cells, from) => {
    for (let k = 0; k < at.length; k++) {
      const value = cells[from + at[k]!]!;
      if (value !== value) continue;
      if (sign * value < sign * extreme[k]!) extreme[k] = value;
      counts[k]!++;
    }
  });
  return extreme;
}

/** Product of the values. */
export function product(rows: WindowRows, counts: Int32Array): Float64Array {
  const { at } = rows;
  const total = new Float64Array(rows.names).fill(1);
  counts.fill(0);
  rows.forEach((cells, from) => {
    for (let k = 0; k < at.length; k++) {
      const value = cells[from + at[k]!]!;
      if (value !== value) continue;
      total[k]! *= value;
      counts[k]!++;
    }
  });
  return total;
}

/**
 * Sample standard deviation (ddof 1), NaN for fewer than two values. Sums are taken about the first value: a constant series gives
 * exactly 0, and since that value is one of the sample, the difference of the sums loses at most a factor of the count in accuracy.
 */
export function deviation(rows: WindowRows, counts: Int32Array): Float64Array {
  const { at } = rows;
  const first = new Float64Array(rows.names);
  const sums = new Float64Array(rows.names);
  const squares = new Float64Array(rows.names);
  counts.fill(0);
  rows.forEach((cells, from) => {
    for (let k = 0; k < at.length; k++) {
      const value = cells[from + at[k]!]!;
      if (value !== value) continue;
      if (counts[k]!++ === 0) first[k] = value;
      const distance = value - first[k]!;
      sums[k]! += distance;
      squares[k]! += distance * distance;
    }
  });
  for (let k = 0; k < squares.length; k++) {
    const count = counts[k]!;
    const variance = (squares[k]! - (sums[k]! * sums[k]!) / count) / (count - 1);
    squares[k] = count < 2 ? NaN : Math.sqrt(Math.max(0, variance));
  }
  return squares;
}

/** Middle value; the mean of the two middle ones for an even count. */
function medians(rows: WindowRows, counts: Int32Array): Float64Array {
  const { names, height, at } = rows;
  const laidOut = new Float64Array(names * height); // one name's values lie together
  counts.fill(0);
  rows.forEach((cells, from) => {
    for (let k = 0; k < at.length; k++) {
      const value = cells[from + at[k]!]!;
      if (value === value) laidOut[k * height + counts[k]!++] = value;
    }
  });
  return Float64Array.from(counts.subarray(0, names), (count, k) => (count === 0 ? NaN : medianOf(laidOut, k * height, count)));
}

/** Median of a stretch of a buffer, which is reordered. @cost O(count) on average (quickselect) */
export function medianOf(values: Float64Array, from: number, count: number): number {
  const upper = from + (count >> 1);
  const high = select(values, from, upper, from + count - 1);
  if (count % 2 === 1) return high;
  let low = values[from]!; // after the selection everything before `upper` is at most `high`
  for (let i = from + 1; i < upper; i++) if (values[i]! > low) low = values[i]!;
  return (low + high) / 2;
}

/** Hoare's selection: puts the value that belongs at position k of the sorted stretch there, and returns it. */
function select(values: Float64Array, from: number, k: number, to: number): number {
  let left = from;
  let right = to;
  while (left < right) {
    const pivot = values[k]!;
    let i = left;
    let j = right;
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i > j) break;
      const swapped = values[i]!;
      values[i++] = values[j]!;
      values[j--] = swapped;
    }
    if (j < k) left = i;
    if (i > k) right = j;
  }
  return values[k]!;
}
