import { sortByBits } from '../numbers/sorted-by-bits.js';

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

/** Returns every position of an array, ascending. */
export function listPositions({ length }: ArrayLike<unknown>): Int32Array {
  const positions = new Int32Array(length);
  for (let i = 0; i < length; i++) positions[i] = i;
  return positions;
}

/** Returns the positions with a value, in unchanged order. */
export function selectPositionsWithValue(values: Float64Array, positions: Int32Array): Int32Array {
  let count = 0;
  const presentPositions = new Int32Array(positions.length);
  for (let i = 0; i < positions.length; i++)
    if (!Number.isNaN(values[positions[i]!]!)) presentPositions[count++] = positions[i]!;
  return presentPositions.subarray(0, count);
}
