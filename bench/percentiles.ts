/** The value below which the given share of the sorted sample lies. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

/** The middle of a sample in any order: of an even number the mean of the two in the middle. NaN for none. */
export function median(sample: readonly number[]): number {
  const sorted = sample.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[half]!;
  return ((sorted[half - 1] ?? Number.NaN) + (sorted[half] ?? Number.NaN)) / 2;
}

/** `p50 … p99 … max` of milliseconds. */
export function spread(milliseconds: readonly number[]): string {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const show = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
  return `p50 ${show(percentile(sorted, 0.5))} ms   p99 ${show(percentile(sorted, 0.99))} ms   max ${show(sorted.at(-1) ?? Number.NaN)} ms`;
}
