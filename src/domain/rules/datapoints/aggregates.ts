import type { Aggregate } from './field-request.js';

/** A statistic of the first `count` entries of a buffer, in time order; the buffer may be reordered. */
export type Statistic = (values: Float64Array, count: number) => number;

/** Every aggregate over a window; `last` is the last entry. All expect at least one value; `std` of one value is missing. */
export const STATISTICS: Readonly<Record<Aggregate, Statistic>> = {
  last: (values, count) => values[count - 1]!,
  mean: (values, count) => sum(values, count) / count,
  median,
  sum,
  min(values, count) {
    let least = values[0]!;
    for (let i = 1; i < count; i++) if (values[i]! < least) least = values[i]!;
    return least;
  },
  max(values, count) {
    let most = values[0]!;
    for (let i = 1; i < count; i++) if (values[i]! > most) most = values[i]!;
    return most;
  },
  std: deviation,
  count: (_, count) => count,
};

function sum(values: Float64Array, count: number): number {
  let total = 0;
  for (let i = 0; i < count; i++) total += values[i]!;
  return total;
}

/** Sample standard deviation (ddof 1) in two passes, so that a constant series gives exactly 0; NaN for fewer than two values. */
export function deviation(values: Float64Array, count: number): number {
  if (count < 2) return NaN;
  const mean = values[0]! + shiftedSum(values, count) / count;
  let squares = 0;
  for (let i = 0; i < count; i++) squares += (values[i]! - mean) ** 2;
  return Math.sqrt(squares / (count - 1));
}

/** Sum of the differences to the first value: exactly 0 for equal values, whose plain mean may be off by a rounding. */
function shiftedSum(values: Float64Array, count: number): number {
  let total = 0;
  for (let i = 1; i < count; i++) total += values[i]! - values[0]!;
  return total;
}

/** Middle value; the mean of the two middle ones for an even count. @cost O(count) on average (quickselect). */
export function median(values: Float64Array, count: number): number {
  const upper = count >> 1;
  const high = select(values, upper, count);
  if (count % 2 === 1) return high;
  let low = values[0]!; // after the selection everything before `upper` is at most `high`
  for (let i = 1; i < upper; i++) if (values[i]! > low) low = values[i]!;
  return (low + high) / 2;
}

/** Hoare's selection: puts the k-th smallest of the first `count` values at position k and returns it. */
function select(values: Float64Array, k: number, count: number): number {
  let left = 0;
  let right = count - 1;
  while (left < right) {
    const pivot = medianOfThree(values[left]!, values[(left + right) >> 1]!, values[right]!);
    let i = left;
    let j = right;
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i <= j) {
        const swapped = values[i]!;
        values[i++] = values[j]!;
        values[j--] = swapped;
      }
    }
    if (k <= j) right = j;
    else if (k >= i) left = i;
    else break;
  }
  return values[k]!;
}

function medianOfThree(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
