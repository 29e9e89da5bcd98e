/**
 * Returns a quantile between the adjacent order statistics (type 7 of Hyndman and Fan); NaN for an empty sample. @param
 * share from 0 to 1
 */
export function computeQuantile(sorted: ArrayLike<number>, share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below] ?? NaN;
  return low + (position - below) * ((sorted[below + 1] ?? low) - low);
}

/**
 * Returns the median of an unsorted sample; for an even count, the mean of the two middle values. NaN for an empty
 * sample.
 */
export function computeMedian(sample: Iterable<number>): number {
  const sorted = Float64Array.from(sample).sort();
  const half = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[half]!;
  return ((sorted[half - 1] ?? NaN) + (sorted[half] ?? NaN)) / 2;
}

/**
 * Returns the upper median of an unsorted sample; for an even count, the larger of the two middle values. NaN for an
 * empty sample.
 */
export function findUpperMedian(sample: Iterable<number>): number {
  const sorted = Float64Array.from(sample).sort();
  return sorted[sorted.length >> 1] ?? NaN;
}
