import { parseDay, type Day } from '#domain/time/days.js';
import type { Problems } from '#market/tables/problems.js';

/**
 * Converts dates to days. If a date does not exist or the dates do not ascend, reports a finding and returns undefined.
 */
export function parseDays(dates: readonly string[] | Int32Array, problems: Problems): Int32Array | undefined {
  const days = new Int32Array(dates.length);
  for (let t = 0; t < days.length; t++) {
    const date = dates[t]!;
    const day: Day | undefined = typeof date === 'number' ? date : parseDay(String(date));
    if (day === undefined) {
      const message = `${JSON.stringify(date)} is not a day that exists, YYYY-MM-DD.`;
      problems.error({ code: 'BAD_DATE', path: `prices.dates[${t}]`, message, value: date });
      return undefined;
    }
    days[t] = day;
    if (t === 0 || day > days[t - 1]!) continue;
    const message = `The date ${date} is not after ${dates[t - 1]!}. Dates must be unique and ascending.`;
    problems.error({ code: 'INVALID_RANGE', path: `prices.dates[${t}]`, message, value: date });
    return undefined;
  }
  return days;
}
