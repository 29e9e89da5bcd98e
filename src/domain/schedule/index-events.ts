import type { LimitRuleName } from '../compliance/rules.js';
import type { RebalanceCause } from './rebalance-causes.js';
import type { Calendar, EarlyClose } from '../calendars/calendar.js';
import { toCivilDate, toDay, toWeekday, type Day } from '../time/days.js';
import { findLastAtMost } from '../numbers/search.js';
import { listIndexDates, type IndexSchedule } from './index-schedule.js';

/** Kinds of events, in the order in which the events of a day are listed. */
export const EVENT_KINDS = {
  holiday: 'weekday on which the exchange is closed',
  early_close: 'session that closes before the usual time by the rules of the exchange calendar',
  closure: 'recorded change of the sessions of an exchange: a closure, a half day, a late opening, an added session',
  announcement: 'session on which a composition is announced, if it is before the effective date',
  effective: 'date on which a rebalance takes effect, at its close',
  expiry: 'expiry of index futures: the third Friday of March, June, September and December, or the previous session',
} as const;
export type EventKind = keyof typeof EVENT_KINDS;

/** First and last requested day. */
export interface EventWindow {
  readonly from: Day;
  readonly to: Day;
}

export interface RebalanceEvent {
  readonly day: Day;
  readonly kind: 'announcement' | 'effective';
  /** Effective date of the rebalance. */
  readonly effective: Day;
  readonly cause: RebalanceCause;
  /** Rule that was breached; null for other rebalances. */
  readonly rule: LimitRuleName | null;
  /** Market identifier code (MIC) of the calendar. */
  readonly calendar: string;
}

/** Returns the announcements and effective dates of an index in a window, ascending. */
export function listRebalanceEvents({ from, to }: EventWindow, schedule: IndexSchedule): RebalanceEvent[] {
  const events = listIndexDates(schedule).flatMap(({ date, announcement, isAnnounced, ...why }): RebalanceEvent[] => [
    // Rebalances announced in the window may take effect after it.
    ...(isAnnounced ? [{ day: announcement, kind: 'announcement' as const, effective: date, ...why }] : []),
    { day: date, kind: 'effective', effective: date, ...why },
  ]);
  const rebalanceEvents = events.filter(({ day }) => day >= from && day <= to);
  const createKey = ({ day, kind, effective }: RebalanceEvent) => `${day} ${kind} ${effective}`;
  return [...new Map(rebalanceEvents.toReversed().map((event) => [createKey(event), event])).values()].toSorted(
    (a, b) => a.day - b.day || a.effective - b.effective,
  );
}

export interface EarlyCloseEvent extends EarlyClose {
  readonly day: Day;
}

/** Number of days before a window that are also used to determine the usual trading weekdays of an exchange. */
const WEEKDAYS_FROM_DAYS = 366;

/** Returns the weekdays without a session on which the exchange usually trades, ascending. */
export function listHolidays({ from, to }: EventWindow, calendar: Calendar): Day[] {
  const { coverage, isSession } = calendar;
  const [first, last] = [Math.max(from, coverage.from), Math.min(to, coverage.to)];
  const sessions = new Int32Array(7);
  const days = new Int32Array(7);
  for (let day = Math.max(coverage.from, first - WEEKDAYS_FROM_DAYS); day <= last; day++) {
    days[toWeekday(day)]!++;
    if (isSession(day)) sessions[toWeekday(day)]!++;
  }
  const unusualDays: Day[] = [];
  for (let day = first; day <= last; day++) {
    const weekday = toWeekday(day);
    if (!isSession(day) && 2 * sessions[weekday]! > days[weekday]!) unusualDays.push(day);
  }
  return unusualDays;
}

/** Returns the sessions that close early by the rules of a calendar, ascending. */
export function listEarlyCloses({ from, to }: EventWindow, { sessions, earlyCloseOn }: Calendar): EarlyCloseEvent[] {
  const earlyCloses: EarlyCloseEvent[] = [];
  for (let i = findLastAtMost(sessions, from - 1) + 1; i < sessions.length && sessions[i]! <= to; i++) {
    const earlyClose = earlyCloseOn?.(sessions[i]!);
    if (earlyClose !== undefined) earlyCloses.push({ day: sessions[i]!, ...earlyClose });
  }
  return earlyCloses;
}

const EXPIRY_MONTHS = [3, 6, 9, 12];
const FRIDAY = 4;

/** Returns the expiries of index futures on the sessions of a calendar, ascending. */
export function listExpiries({ from, to }: EventWindow, { sessions, coverage }: Calendar): Day[] {
  const eventDays: Day[] = [];
  for (let { year } = toCivilDate(from); year <= toCivilDate(to).year; year++) {
    for (const month of EXPIRY_MONTHS) {
      const first = toDay({ year, month, day: 1 });
      const thirdFriday = first + ((FRIDAY - toWeekday(first) + 7) % 7) + 14;
      const session = sessions[findLastAtMost(sessions, thirdFriday)];
      if (thirdFriday > coverage.to || session === undefined) continue;
      if (session >= from && session <= to) eventDays.push(session);
    }
  }
  return eventDays;
}
