/** Input of the simplification of a line. */
export interface SimplifyInput {
  /** Horizontal positions in points, ascending. */
  readonly xs: ArrayLike<number>;
  readonly values: Float64Array;
  /** Width of a bucket in points. */
  readonly bucket: number;
}

/**
 * Selects the first, lowest, highest and last point in each bucket of a line. If a bucket is not wider than the pen,
 * the line looks the same.
 * @returns positions of the selected points, ascending
 * @source U. Jugel et al., M4: a visualization-oriented time series data aggregation, VLDB 2014
 * @cost O(n)
 */
export function simplifyLine({ xs, values, bucket }: SimplifyInput): Int32Array {
  const chosenPoints: number[] = [];
  let from = 0;
  while (from < values.length) {
    const end = xs[from]! + bucket;
    let lowest = from;
    let highest = from;
    let last = from;
    while (last + 1 < values.length && xs[last + 1]! < end) {
      last++;
      if (values[last]! < values[lowest]!) lowest = last;
      if (values[last]! > values[highest]!) highest = last;
    }
    for (const position of [from, Math.min(lowest, highest), Math.max(lowest, highest), last])
      if (chosenPoints.at(-1) !== position) chosenPoints.push(position);
    from = last + 1;
  }
  return Int32Array.from(chosenPoints);
}
