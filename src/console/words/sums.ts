/** Returns the cumulative sums of values within each calendar year. */
export function sumByYear(dates: readonly string[], values: readonly (number | null)[]): number[] {
  let sum = 0;
  return dates.map((date, t) => {
    if (t > 0 && date.slice(0, 4) !== dates[t - 1]!.slice(0, 4)) sum = 0;
    return (sum += values[t] ?? 0);
  });
}
