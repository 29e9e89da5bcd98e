import type { Calendar } from './calendar.js';

/**
 * Creates a calendar whose sessions are the given days, ascending. It is used for securities that are not listed on a
 * single exchange.
 */
export function createDaysCalendar(days: Int32Array): Calendar {
  const sessions = new Set(days);
  const from = days[0] ?? 0;
  const to = days.at(-1) ?? 0;
  return {
    code: 'DAYS',
    name: 'Given days',
    region: 'Etc',
    tz: 'Etc/UTC',
    coverage: { from, publishedTo: to, to },
    sessions: days,
    isSession: (day) => sessions.has(day),
  };
}
