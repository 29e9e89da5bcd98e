import { formatDay, toWeekday, type Day } from '#domain/time/days.js';
import type { Problems } from '../tables/problems.js';
import { GAP_SESSIONS_MAX } from './market-warnings.js';

/** Days per week, and trading days per week. */
const DAYS_PER_WEEK = 7;
const WEEKDAYS_PER_WEEK = 5;

/**
 * Warns of gaps in a whole market: more than ten weekdays in a row without any bar (GAP_LONG). The history of a single
 * security cannot show such gaps, because the sessions are the dates of the store. A market whose dates are usually
 * that far apart (monthly closes) has no gaps.
 * @param dates of the store, ascending
 * @cost O(dates)
 */
export function warnOfMissingDays(dates: Int32Array, problems: Problems): void {
  const gaps: { readonly to: number; readonly days: number }[] = [];
  for (let t = 1; t < dates.length; t++) {
    const days = countWeekdaysBetween(dates[t - 1]!, dates[t]!);
    if (days > GAP_SESSIONS_MAX) gaps.push({ to: t, days });
  }
  if (2 * gaps.length >= dates.length - 1) return;
  for (const { to, days } of gaps)
    problems.warning({
      code: 'GAP_LONG',
      path: `market[${formatDay(dates[to]!)}]`,
      message: `The market has no bar on ${days} weekdays between ${formatDay(dates[to - 1]!)} and ${formatDay(dates[to]!)}; gaps of more than ${GAP_SESSIONS_MAX} are unusual.`,
    });
}

/** Counts the days from Monday to Friday between two days, both exclusive. */
function countWeekdaysBetween(from: Day, to: Day): number {
  const days = to - from - 1;
  const weeks = Math.floor(days / DAYS_PER_WEEK);
  let count = weeks * WEEKDAYS_PER_WEEK;
  for (let day = from + 1 + weeks * DAYS_PER_WEEK; day < to; day++) if (toWeekday(day) < WEEKDAYS_PER_WEEK) count += 1;
  return count;
}
