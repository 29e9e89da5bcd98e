import type { Calendar } from '#domain/calendars/calendar.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { listRebalanceDates, type RebalanceDate, RebalanceSpec } from '#domain/definition/schedule.js';
import { openCalendars } from '#market/serve/calendar-files.js';

const calendars = openCalendars();
export const getCalendar = (code: string): Calendar => calendars.get(code)!;

export type Spec = Partial<RebalanceSpec>;
export const schedule = (
  spec: Spec,
  from: string,
  to: string,
  { code = 'XNYS', base = from } = {},
): readonly RebalanceDate[] =>
  listRebalanceDates({
    rebalance: RebalanceSpec.parse(spec),
    calendar: getCalendar(code),
    baseDay: parseValidDay(base),
    from: parseValidDay(from),
    to: parseValidDay(to),
  });
/** Returns the rebalance dates after the base date. */
export const listDates = (...args: Parameters<typeof schedule>) =>
  schedule(...args)
    .slice(1)
    .map(({ date }) => formatDay(date));
