import { findLastAtMost } from '../numbers/search.js';
import { parseValidDay, formatDay, type Day } from '../time/days.js';
import type { ExchangeCalendar, ExchangeCalendars } from './calendars.js';
import type { RecordedClosures, SessionChange, VersionedClosures } from './closures.js';
import { closeHoursAt, type TradingHours } from './trading-hours.js';

/** Returns calendars with recorded changes applied. */
export function correctCalendars(calendars: ExchangeCalendars, closures: RecordedClosures): ExchangeCalendars {
  const correctedCalendars = new Map<string, ExchangeCalendar>();
  return {
    list: () => calendars.list(),
    get(code) {
      const calendar = calendars.get(code);
      const recordedClosures = Object.hasOwn(closures, code) ? closures[code] : undefined;
      if (calendar === undefined || recordedClosures === undefined) return calendar;
      const exchangeCalendar = correctedCalendars.get(code) ?? correctCalendar(calendar, recordedClosures);
      correctedCalendars.set(code, exchangeCalendar);
      return exchangeCalendar;
    },
  };
}

function correctCalendar(calendar: ExchangeCalendar, recorded: VersionedClosures): ExchangeCalendar {
  const { from, to } = calendar.coverage;
  const byDay = new Map<Day, SessionChange>();
  for (const change of recorded.changes) {
    const day = parseValidDay(change.date);
    if (day >= from && day <= to) byDay.set(day, change);
  }
  const isSession = (day: Day): boolean => {
    const change = byDay.get(day);
    return change === undefined ? calendar.isSession(day) : change.session === 'open';
  };
  const addedDays = [...byDay.keys()].filter((day) => isSession(day) && !calendar.isSession(day));
  const sessions = Int32Array.from([...calendar.sessions.filter(isSession), ...addedDays]).toSorted();
  const earlyCloses = new Map(calendar.earlyCloses);
  for (const [day, { session, closes }] of byDay) {
    if (session === 'closed') earlyCloses.delete(day);
    else if (closes !== undefined) earlyCloses.set(day, closes);
  }
  return {
    ...calendar,
    recorded,
    sessions,
    earlyCloses,
    isSession,
    hoursOn(day) {
      const hours = isSession(day) ? findUsualHours(calendar, day) : undefined;
      const change = byDay.get(day);
      return hours && change ? createChangedHours(hours, change) : hours;
    },
  };
}

/** Returns the hours by the rules. On a day without a session, returns the hours of the previous session. */
export const findUsualHours = (
  { hoursOn, sessions }: Pick<ExchangeCalendar, 'hoursOn' | 'sessions'>,
  day: Day,
): TradingHours | undefined => hoursOn(day) ?? hoursOn(sessions[findLastAtMost(sessions, day)] ?? day);

function createChangedHours(usual: TradingHours, { opens, closes }: SessionChange): TradingHours {
  const hours = closes === undefined ? usual : closeHoursAt(usual, closes);
  if (opens === undefined) return hours;
  return { ...hours, open: opens, openDay: 0, breaks: hours.breaks.filter(([start]) => start > opens) };
}

/** Returns sessions that one calendar has and another lacks, YYYY-MM-DD, ascending. */
export const listSessionsOnlyIn = (
  one: Pick<ExchangeCalendar, 'sessions'>,
  other: Pick<ExchangeCalendar, 'isSession'>,
): string[] => [...one.sessions].filter((day) => !other.isSession(day)).map(formatDay);
