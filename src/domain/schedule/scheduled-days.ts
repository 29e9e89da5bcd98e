import type { Calendar } from '../calendars/calendar.js';
import { findWeekdayOnOrAfter, findWeekdayOnOrBefore } from '../calendars/date-rule.js';
import { toCivilDate, parseValidDay, toDay, countDaysInMonth, toWeekday, type Day } from '../time/days.js';
import type { RebalanceSpec } from './rebalance-spec.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';

/** Default months of the frequencies in months. */
const MONTHS = {
  monthly: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  quarterly: [3, 6, 9, 12],
  semi_annual: [6, 12],
  annual: [12],
} as const;

const FRIDAY = 4;
const DAYS_PER_WEEK = 7;

/**
 * Returns the days of a cadence after its base session, ascending, before rolling to sessions. The calendar covers the
 * anchor period of each day completely.
 */
export function listScheduledDays(rebalance: RebalanceSpec, calendar: Calendar, base: Day): readonly Day[] {
  switch (rebalance.frequency) {
    case 'none':
      return [];
    case 'daily':
      return [...calendar.sessions.subarray(findLastAtMost(calendar.sessions, base) + 1)];
    case 'custom':
      return listCustomDays(rebalance, calendar, base);
    case 'weekly':
      return listWeeklyDays(rebalance.weekday, addClosedDays(calendar), base);
    default:
      return listMonthlyDays(rebalance, rebalance.months ?? MONTHS[rebalance.frequency], addClosedDays(calendar), base);
  }
}

/** Calendar, and the days that were sessions until a closure was recorded. */
interface ScheduledCalendar extends Pick<Calendar, 'sessions' | 'coverage'> {
  readonly closed: readonly Day[];
}

function addClosedDays({ sessions, coverage, recorded }: Calendar): ScheduledCalendar {
  const closedDays = (recorded?.changes ?? []).flatMap(({ date, session }) =>
    session === 'closed' ? [parseValidDay(date)] : [],
  );
  return { sessions, coverage, closed: closedDays };
}

function listCustomDays({ dates }: RebalanceSpec, { coverage }: Calendar, base: Day): Day[] {
  const days = dates.map(parseValidDay).filter((day) => day > base && day <= coverage.to);
  return days.sort((a, b) => a - b);
}

function listWeeklyDays(weekday: number | null, calendar: ScheduledCalendar, base: Day): Day[] {
  const days: Day[] = [];
  for (
    let monday = base - toWeekday(base);
    monday + DAYS_PER_WEEK - 1 <= calendar.coverage.to;
    monday += DAYS_PER_WEEK
  ) {
    const day = weekday === null ? findLastSession(calendar, monday, monday + DAYS_PER_WEEK - 1) : monday + weekday;
    if (day !== undefined && day > base) days.push(day);
  }
  return days;
}

function listMonthlyDays(
  rebalance: RebalanceSpec,
  months: readonly number[],
  calendar: ScheduledCalendar,
  base: Day,
): Day[] {
  const monthSet = new Set(months);
  const days: Day[] = [];
  let { year, month } = toCivilDate(base);
  for (;;) {
    const last = toDay({ year, month, day: countDaysInMonth(year, month) });
    if (last > calendar.coverage.to) return days;
    const day = monthSet.has(month) ? findAnchorDay(rebalance, calendar, year, month) : undefined;
    if (day !== undefined && day > base) days.push(day);
    month++;
    if (month > 12) {
      month = 1;
      year++;
    }
  }
}

/** Returns the anchor day in a month. Returns undefined if the anchor needs a session and the month has none. */
function findAnchorDay(
  { anchor, nth, weekday, day }: RebalanceSpec,
  calendar: ScheduledCalendar,
  year: number,
  month: number,
): Day | undefined {
  const first = toDay({ year, month, day: 1 });
  const last = first + countDaysInMonth(year, month) - 1;
  switch (anchor) {
    case 'first_session':
      return findFirstSession(calendar, first, last);
    case 'last_session':
      return findLastSession(calendar, first, last);
    case 'third_friday':
      return findNthWeekday({ first, last, nth: 3, weekday: FRIDAY });
    case 'nth_weekday':
      return findNthWeekday({
        first,
        last,
        nth: requireParameter(nth, 'nth'),
        weekday: requireParameter(weekday, 'weekday'),
      });
    case 'day_of_month':
      return Math.min(first + requireParameter(day, 'day') - 1, last);
  }
}

/** Returns the nth weekday of a month, counted from 1; 5 is the last one. */
function findNthWeekday({ first, last, nth, weekday }: { first: Day; last: Day; nth: number; weekday: number }): Day {
  if (nth === 5) return findWeekdayOnOrBefore(last, weekday);
  return findWeekdayOnOrAfter(first, weekday) + DAYS_PER_WEEK * (nth - 1);
}

function findFirstSession({ sessions }: ScheduledCalendar, first: Day, last: Day): Day | undefined {
  const session = sessions[findFirstAtLeast(sessions, first)];
  return session !== undefined && session <= last ? session : undefined;
}

/**
 * Returns the last session of a period. If a closure was recorded for that day, it remains the anchor and is rolled to
 * a session. The previous session may already have passed.
 */
function findLastSession({ sessions, closed }: ScheduledCalendar, first: Day, last: Day): Day | undefined {
  const session = sessions[findLastAtMost(sessions, last)] ?? -Infinity;
  const day = Math.max(session, ...closed.filter((one) => one >= first && one <= last));
  return day >= first ? day : undefined;
}

/** Returns a required parameter of an anchor. Every anchor of a validated document has its required parameters. */
function requireParameter(value: number | null, name: string): number {
  if (value === null) throw new Error(`the anchor needs rebalance.${name}`);
  return value;
}
