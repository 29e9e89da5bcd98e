import type { CompareView } from '#contract/analytics.js';
import { rebase } from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-columns.js';
import { formatDay } from '#domain/days.js';
import { Refusal } from '#domain/refusal.js';
import { lastAtMost } from '#domain/search.js';

/** Levels of stored runs on the dates that all of them have. @throws Refusal NO_COMMON_DATES */
export function compareView(runs: readonly RunColumns[]): CompareView {
  const series = runs.map((columns) => ({ id: columns.header.run_id, days: columns.i32('days'), level: columns.f64('level') }));
  const [first, ...rest] = series;
  const shared = first!.days.filter((day) => rest.every(({ days }) => days[lastAtMost(days, day)] === day));
  if (shared.length === 0) {
    const spans = series.map(({ id, days }) => `${id} is from ${formatDay(days[0]!)} to ${formatDay(days.at(-1)!)}`);
    throw new Refusal('NO_COMMON_DATES', `The ${runs.length} runs share no date: ${spans.join(', ')}.`);
  }
  const index = Array.from(shared, formatDay);
  return {
    index_ids: series.map(({ id }) => id),
    entries: series.map(({ id, days, level }) => {
      const values = rebase(Float64Array.from(shared, (day) => level[lastAtMost(days, day)]!), 100);
      return { index_id: id, level: { index, data: [...values], name: id }, total_return: values.at(-1)! / values[0]! - 1 };
    }),
    observations: shared.length,
    start: index[0]!,
    end: index.at(-1)!,
  };
}
