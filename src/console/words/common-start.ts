export interface DatedLevels {
  readonly dates: readonly string[];
  readonly levels: readonly (number | null)[];
}

/**
 * Rebases series of levels to 100 at the first date that all of them have reached. A series without this date has its
 * level before it there.
 * @returns all dates from this date on, and the levels of each series on them; null where a series has no level
 */
export function rebaseAtCommonStart(series: readonly DatedLevels[]): {
  readonly dates: readonly string[];
  readonly levels: readonly (readonly (number | null)[])[];
} {
  const start = series.map(({ dates }) => dates[0] ?? '').reduce((last, date) => (date > last ? date : last), '');
  const dates = [...new Set(series.flatMap((one) => one.dates))].filter((date) => date >= start).toSorted();
  return {
    dates,
    levels: series.map((one) => {
      const base = one.levels[one.dates.findLastIndex((date) => date <= start)] ?? null;
      const byDate = new Map(one.dates.map((date, at) => [date, one.levels[at] ?? null]));
      return dates.map((date) => {
        const level = date === start ? base : (byDate.get(date) ?? null);
        return level === null || base === null ? null : (100 * level) / base;
      });
    }),
  };
}
