/**
 * Returns a quantile between the adjacent order statistics (type 7 of Hyndman and Fan). Returns NaN for an empty
 * sample. @param share from 0 to 1
 */
export function computeQuantile(sorted: ArrayLike<number>, share: number): number {
  const position = share * (sorted.length - 1);
  const lowerIndex = Math.floor(position);
  const low = sorted[lowerIndex] ?? NaN;
  return low + (position - lowerIndex) * ((sorted[lowerIndex + 1] ?? low) - low);
}

/**
 * Returns the median of an unsorted sample; for an even count, the mean of the two middle values. NaN for an empty
 * sample.
 */
export function computeMedian(sample: Iterable<number>): number {
  const sortedSample = Float64Array.from(sample).sort();
  const half = sortedSample.length >> 1;
  if (sortedSample.length % 2 === 1) return sortedSample[half]!;
  return ((sortedSample[half - 1] ?? NaN) + (sortedSample[half] ?? NaN)) / 2;
}

/**
 * Returns the upper median of an unsorted sample; for an even count, the larger of the two middle values. NaN for an
 * empty sample.
 */
export function findUpperMedian(sample: Iterable<number>): number {
  const sortedSample = Float64Array.from(sample).sort();
  return sortedSample[sortedSample.length >> 1] ?? NaN;
}
