import type { Calendar } from '../calendars/calendar.js';
import { findLastAtMost } from '../numbers/search.js';
import { parseValidDay, formatDay, type Day } from '../time/days.js';
import { toInstant, toLocalDay } from '../time/local-time.js';
import type { ScheduleDocument } from './schedule-document.js';

/** Session whose day is due to begin. */
export interface DueDay {
  readonly date: string;
  readonly dueMs: number;
  readonly deadlineMs: number | null;
}

type Plan = Pick<ScheduleDocument, 'at' | 'day_offset' | 'time_zone' | 'deadline_minutes'>;

/** Returns the time at which the day of a session is due, and its deadline. */
export function findDueDay(session: Day, plan: Plan, calendar: Pick<Calendar, 'tz'>): DueDay {
  const zone = plan.time_zone ?? calendar.tz;
  const dueMs = toInstant({ day: session + plan.day_offset, time: plan.at, zone });
  const { deadline_minutes: minutes } = plan;
  return { date: formatDay(session), dueMs, deadlineMs: minutes === null ? null : dueMs + minutes * 60_000 };
}

/**
 * Returns the sessions after a given one whose days are due, ascending.
 * @param after last session that has a day; null before the first day
 */
export function listDueDays(
  plan: ScheduleDocument,
  calendar: Calendar,
  { after, nowMs }: { readonly after: string | null; readonly nowMs: number },
): readonly DueDay[] {
  const { sessions } = calendar;
  const first = Math.max(after === null ? 0 : parseValidDay(after) + 1, parseValidDay(plan.starts_on));
  const today = toLocalDay(plan.time_zone ?? calendar.tz, nowMs);
  const due: DueDay[] = [];
  for (let i = findLastAtMost(sessions, first - 1) + 1; i < sessions.length && sessions[i]! <= today; i++) {
    const day = findDueDay(sessions[i]!, plan, calendar);
    if (day.dueMs <= nowMs) due.push(day);
  }
  return due;
}

/** Returns the first session whose day is not yet due; undefined at the end of the calendar. */
export function findNextDay(plan: ScheduleDocument, calendar: Calendar, nowMs: number): DueDay | undefined {
  const { sessions } = calendar;
  const from = Math.max(
    toLocalDay(plan.time_zone ?? calendar.tz, nowMs) - plan.day_offset - 1,
    parseValidDay(plan.starts_on),
  );
  for (let i = findLastAtMost(sessions, from - 1) + 1; i < sessions.length; i++) {
    const day = findDueDay(sessions[i]!, plan, calendar);
    if (day.dueMs > nowMs) return day;
  }
  return undefined;
}
