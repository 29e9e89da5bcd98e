import { LIMITS } from '../base/limits.js';
import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { type Day, toCivilDate, toDay, toWeekday } from '../base/time.js';
import type { Calendar, EarlyClose } from '../calendars/calendar.js';
import type { BreachRuleName } from './compliance.js';
import { countPhaseCloses, listRebalanceDates, type RebalanceSpec } from './schedule.js';

/** Triggers of a rebalance: the schedule, a breach, or a change of constituents between reviews. */
export const REBALANCE_CAUSES = ['schedule', 'breach', 'replacement', 'fast_entry', 'fast_exit'] as const;
export type RebalanceCause = (typeof REBALANCE_CAUSES)[number];

export type EventCause = Exclude<RebalanceCause, 'schedule'>;

/** Returns true if a rebalance was decided by reviews of the definition, on their dates or because of a breach. */
export const isReviewed = (cause: RebalanceCause): boolean => cause === 'schedule' || cause === 'breach';

export interface TriggeredRebalance {
  /** Session of the breach: the composition is decided at its close. */
  readonly decision: Day;
  /** Session at whose close it takes effect. Beyond the data of the run, it is a session of the calendar. */
  readonly effective: Day;
  readonly rule?: BreachRuleName;
}

/**
 * Returns the first triggered rebalance that is pending on a day: decided on or before it, effective on or after it.
 */
export function findAnnouncedRebalance(
  called: readonly TriggeredRebalance[],
  day: Day,
): TriggeredRebalance | undefined {
  return called.find(({ decision, effective }) => decision <= day && effective >= day);
}

/** Cadence with the calendar of its dates. */
export interface Cadence {
  readonly rebalance: RebalanceSpec;
  readonly calendar: Calendar;
  /** True for a further review of a document, which does not include the base rebalance. */
  readonly isFurther?: boolean;
  /** First day, and day after the last day, of the dates to list. Default: all. */
  readonly from?: Day;
  readonly until?: Day;
}

export interface IndexSchedule {
  /** Base day: no rebalance is before its first session. */
  readonly baseDay: Day;
  /** Cadences of the index; for an overlay also those of its underlying indices. */
  readonly cadences: readonly Cadence[];
  readonly called: readonly TriggeredRebalance[];
}

/** Effective date of an index, and the session of its announcement. */
interface IndexDate {
  readonly date: Day;
  readonly announcement: Day;
  /**
   * True if the date is announced before its session. False if it is announced on the session itself, is added to an
   * earlier date, or is a later close of a rebalance.
   */
  readonly isAnnounced: boolean;
  readonly cause: RebalanceCause;
  /** Rule that was breached; null for other rebalances. */
  readonly rule: BreachRuleName | null;
  /** Market identifier code (MIC) of the calendar. */
  readonly calendar: string;
}

/**
 * Returns the effective dates of an index up to the end of its calendars, ascending, without duplicate announcements of
 * a date.
 */
export function listIndexDates({ baseDay, cadences, called }: IndexSchedule): IndexDate[] {
  const dates = cadences.flatMap(({ rebalance, calendar, isFurther = false, from = -Infinity, until = Infinity }) => {
    const { code, coverage } = calendar;
    const scheduleCause = { cause: 'schedule', rule: null, calendar: code } as const;
    const base = calendar.sessions[findFirstAtLeast(calendar.sessions, baseDay)] ?? baseDay;
    return listRebalanceDates({ rebalance, calendar, baseDay, from: coverage.from, to: coverage.to })
      .filter(({ date, session }) => date >= from && date < until && (!isFurther || session > base))
      .flatMap(({ date, decision, announcement = decision, session, also = [] }): IndexDate[] => [
        { date, announcement, isAnnounced: announcement < session, ...scheduleCause },
        ...[...also, ...(session <= base ? [] : listPhaseCloses(rebalance, session, calendar))].map((day) => ({
          date: day,
          announcement,
          isAnnounced: false,
          ...scheduleCause,
        })),
      ]);
  });
  const [first] = cadences;
  if (first !== undefined)
    for (const { decision, effective, rule = null } of called)
      if (effective > baseDay)
        dates.push({
          date: effective,
          announcement: decision,
          isAnnounced: decision < effective,
          cause: 'breach',
          rule,
          calendar: first.calendar.code,
        });
  if (cadences.length === 1 && called.length === 0) return dates;
  const uniqueDates = new Map<string, IndexDate>();
  for (const indexDate of dates) {
    const key = `${indexDate.date} ${indexDate.announcement}`;
    if (!uniqueDates.has(key)) uniqueDates.set(key, indexDate);
  }
  return [...uniqueDates.values()].toSorted((a, b) => a.date - b.date || a.announcement - b.announcement);
}

/**
 * Returns the closes of a rebalance after its first close. Returns none if it takes effect at one close, and none for
 * the base rebalance.
 */
function listPhaseCloses({ phase }: RebalanceSpec, session: Day, { sessions }: Calendar): readonly Day[] {
  const position = findLastAtMost(sessions, session);
  return [...sessions.subarray(position + 1, position + countPhaseCloses(phase))];
}

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
  readonly effective: Day;
  readonly cause: RebalanceCause;
  /** Rule that was breached; null for other rebalances. */
  readonly rule: BreachRuleName | null;
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

/** Rebalances before and after a date. */
export interface ScheduleAround {
  /** Rebalances effective on or before the date, latest first. */
  readonly recent: readonly ScheduleDate[];
  /** Rebalances effective after the date, soonest first. */
  readonly upcoming: readonly ScheduleDate[];
  /** Last day for which upcoming rebalances are reported. */
  readonly lookaheadEnd: Day;
}

export type ScheduleDate = Pick<IndexDate, 'date' | 'announcement'>;

export interface ScheduleAroundQuery {
  readonly schedule: IndexSchedule;
  readonly asOf: Day;
  /** Maximum number of dates before and after the date. */
  readonly limit: number;
}

/**
 * Returns the rebalances before and after a date. A rebalance triggered by a breach is known from the session of the
 * breach on.
 */
export function selectScheduleAround({ schedule, asOf, limit }: ScheduleAroundQuery): ScheduleAround {
  const { cadences } = schedule;
  const lastCoveredDay = Math.max(...cadences.map(({ calendar }) => calendar.sessions.at(-1) ?? calendar.coverage.to));
  const lookaheadEnd = Math.min(asOf + LIMITS.SCHEDULE_LOOKAHEAD_DAYS, lastCoveredDay);
  const calledRebalances = schedule.called.filter(({ decision }) => decision <= asOf);
  const dates = mergeSameDates(listIndexDates({ ...schedule, called: calledRebalances }));
  const pastDates = dates.filter(({ date }) => date <= asOf);
  return {
    recent: pastDates.toReversed().slice(0, limit),
    upcoming: dates
      .slice(pastDates.length)
      .filter(({ date }) => date <= lookaheadEnd)
      .slice(0, limit),
    lookaheadEnd,
  };
}

/** Keeps the first announcement of each date. */
function mergeSameDates(dates: readonly IndexDate[]): readonly IndexDate[] {
  return dates.filter(({ date }, position) => dates[position - 1]?.date !== date);
}
