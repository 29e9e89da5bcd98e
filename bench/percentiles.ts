/** The value below which the given share of the sorted sample lies. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

/** `p50 … p99 … max` of milliseconds. */
export function spread(milliseconds: readonly number[]): string {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const show = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
  return `p50 ${show(percentile(sorted, 0.5))} ms   p99 ${show(percentile(sorted, 0.99))} ms   max ${show(sorted.at(-1) ?? Number.NaN)} ms`;
}
