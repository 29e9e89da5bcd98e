/** Sums of values in each calendar year up to a date. */
export function sumsByYear(dates: readonly string[], values: readonly (number | null)[]): number[] {
  let sum = 0;
  return dates.map((date, t) => {
    if (t > 0 && date.slice(0, 4) !== dates[t - 1]!.slice(0, 4)) sum = 0;
    return (sum += values[t] ?? 0);
  });
}
