import { z } from 'zod';
import { IsoDate } from '../schema/shape.js';
import { dayFrom, formatDay, type Day } from '../time/days.js';
import { lastAtMost } from '../numbers/search.js';
import type { ExchangeCalendar, ExchangeCalendars } from './calendars.js';
import { closingAt, type TradingHours } from './trading-hours.js';

/** Maximum number of recorded changes of a calendar: 40 years with one a week. */
export const CLOSURES_MAX = 2000;
const REASON_LENGTH_MAX = 500;

const LocalTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'must be a local time HH:MM, such as 13:00' });

/** Recorded change of one day of a calendar. */
export const SessionChange = z
  .strictObject({
    date: IsoDate.meta({ description: 'Day that differs from the rules of the calendar.' }),
    session: z.enum(['closed', 'open']).meta({
      description: '`closed`: no session. `open`: a session, on unusual hours or on a day that has none by the rules.',
    }),
    opens: LocalTime.optional().meta({ description: 'Local time of a late opening. Default: the usual one.' }),
    closes: LocalTime.optional().meta({ description: 'Local time of an early close. Default: the usual one.' }),
    reason: z.string().min(1).max(REASON_LENGTH_MAX).meta({ description: 'Why, with the source.' }),
  })
  .meta({ id: 'SessionChange' });
export type SessionChange = z.infer<typeof SessionChange>;

/** Recorded changes of a calendar; its code is its key. */
export const ClosuresDocument = z
  .strictObject({
    changes: z.array(SessionChange).max(CLOSURES_MAX).meta({ description: 'Changes, one for each date.' }),
  })
  .meta({ id: 'ClosuresDocument' });
export type ClosuresDocument = z.infer<typeof ClosuresDocument>;

/** Recorded changes with the version of their document. */
export const VersionedClosures = ClosuresDocument.extend({ version: z.int().min(1) });
export type VersionedClosures = z.infer<typeof VersionedClosures>;

/** Recorded changes by the code of the calendar. */
export const RecordedClosures = z.record(z.string().min(1).max(64), VersionedClosures);
export type RecordedClosures = z.infer<typeof RecordedClosures>;

interface WithClosures {
  readonly closures?: RecordedClosures | undefined;
}

/** Returns the recorded changes of documents; of several versions of one calendar, the newest. */
export function closuresOf(documents: Readonly<Record<string, WithClosures>>): RecordedClosures {
  const found: RecordedClosures = {};
  for (const { closures = {} } of Object.values(documents))
    for (const [code, recorded] of Object.entries(closures))
      if ((found[code]?.version ?? 0) < recorded.version) found[code] = recorded;
  return found;
}

/** Returns calendars with recorded changes applied. */
export function correctCalendars(calendars: ExchangeCalendars, closures: RecordedClosures): ExchangeCalendars {
  const corrected = new Map<string, ExchangeCalendar>();
  return {
    list: () => calendars.list(),
    get(code) {
      const calendar = calendars.get(code);
      const recorded = Object.hasOwn(closures, code) ? closures[code] : undefined;
      if (calendar === undefined || recorded === undefined) return calendar;
      const known = corrected.get(code) ?? correctCalendar(calendar, recorded);
      corrected.set(code, known);
      return known;
    },
  };
}

function correctCalendar(calendar: ExchangeCalendar, recorded: VersionedClosures): ExchangeCalendar {
  const { from, to } = calendar.coverage;
  const byDay = new Map<Day, SessionChange>();
  for (const change of recorded.changes) {
    const day = dayFrom(change.date);
    if (day >= from && day <= to) byDay.set(day, change);
  }
  const isSession = (day: Day): boolean => {
    const change = byDay.get(day);
    return change === undefined ? calendar.isSession(day) : change.session === 'open';
  };
  const added = [...byDay.keys()].filter((day) => isSession(day) && !calendar.isSession(day));
  const sessions = Int32Array.from([...calendar.sessions.filter(isSession), ...added]).toSorted();
  const earlyCloses = new Map(calendar.earlyCloses);
  for (const [day, { session, closes }] of byDay) {
    if (session === 'closed') earlyCloses.delete(day);
    else if (closes !== undefined) earlyCloses.set(day, closes);
  }
  /** Hours by the rules; of an added session those of the session before it. */
  const usualHours = (day: Day): TradingHours | undefined =>
    calendar.hoursOn(day) ?? calendar.hoursOn(calendar.sessions[lastAtMost(calendar.sessions, day)] ?? day);
  return {
    ...calendar,
    recorded,
    sessions,
    earlyCloses,
    isSession,
    hoursOn(day) {
      const hours = isSession(day) ? usualHours(day) : undefined;
      const change = byDay.get(day);
      return hours && change ? changedHours(hours, change) : hours;
    },
  };
}

function changedHours(usual: TradingHours, { opens, closes }: SessionChange): TradingHours {
  const hours = closes === undefined ? usual : closingAt(usual, closes);
  if (opens === undefined) return hours;
  return { ...hours, open: opens, openDay: 0, breaks: hours.breaks.filter(([start]) => start > opens) };
}

/** Describes a recorded change, as in `closed: National day of mourning`. */
export function changeText({ session, opens, closes, reason }: SessionChange): string {
  const hours = [opens === undefined ? [] : [`opens ${opens}`], closes === undefined ? [] : [`closes ${closes}`]].flat();
  const what = session === 'closed' ? 'closed' : hours.length === 0 ? 'additional session' : hours.join(', ');
  return `${what}: ${reason}`;
}

/** Returns the date of a day on which only the hours are recorded. */
export const hasOnlyHours = (calendar: ExchangeCalendar, { date, session }: SessionChange): boolean =>
  session === 'open' && calendar.isSession(dayFrom(date));

/** Returns sessions that one calendar has and another lacks, YYYY-MM-DD, ascending. */
export const sessionsOnlyIn = (
  one: Pick<ExchangeCalendar, 'sessions'>,
  other: Pick<ExchangeCalendar, 'isSession'>,
): string[] => [...one.sessions].filter((day) => !other.isSession(day)).map(formatDay);
