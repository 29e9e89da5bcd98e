/**
 * Returns the index of the last element at most `value` in an ascending array. Returns -1 if every element is greater.
 * @cost O(log n)
 */
export function findLastAtMost(ascending: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Returns the index of the first element at least `value` in an ascending array of integers; its length if every
 * element is smaller.
 */
export function findFirstAtLeast(ascending: ArrayLike<number>, value: number): number {
  return findLastAtMost(ascending, value - 1) + 1;
}
