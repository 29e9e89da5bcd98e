/** A quantile between the order statistics around it (type 7 of Hyndman and Fan), NaN of none. @param share from 0 to 1 */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below] ?? NaN;
  return low + (position - below) * ((sorted[below + 1] ?? low) - low);
}

/** The middle of a sample in any order: of an even number the mean of the two in the middle. NaN of none. */
export function median(sample: Iterable<number>): number {
  const sorted = Float64Array.from(sample).sort();
  const half = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[half]!;
  return ((sorted[half - 1] ?? NaN) + (sorted[half] ?? NaN)) / 2;
}

/** The middle of a sample in any order as one of its values: of an even number the larger of the two. NaN of none. */
export function upperMedian(sample: Iterable<number>): number {
  const sorted = Float64Array.from(sample).sort();
  return sorted[sorted.length >> 1] ?? NaN;
}
