import { z } from 'zod';
import { LIMITS } from '../base/limits.js';
import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { defineObject, IsoDate } from '../base/schema.js';
import { type Day, formatDay, parseValidDay, SATURDAY, toWeekday } from '../base/time.js';

/** Maximum number of recorded changes of a calendar: one per week for 40 years. */
export const CLOSURES_MAX = 2000;
const REASON_LENGTH_MAX = 500;

const LocalTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'must be a local time HH:MM, such as 13:00' });

export const SessionChange = defineObject(() => ({
  date: IsoDate.meta({ description: 'Day on which the calendar differs from its rules.' }),
  session: z.enum(['closed', 'open']).meta({
    description:
      '`closed`: the day has no session. `open`: the day has a session with unusual hours, or is an additional session.',
  }),
  opens: LocalTime.optional().meta({ description: 'Local time of a late opening. Default: the usual time.' }),
  closes: LocalTime.optional().meta({ description: 'Local time of an early close. Default: the usual time.' }),
  reason: z
    .string()
    .min(1)
    .max(REASON_LENGTH_MAX)
    .meta({ description: 'Reason for the change, including the source.' }),
})).meta({ id: 'SessionChange' });
export type SessionChange = z.infer<typeof SessionChange>;

/** Recorded changes of a calendar; its code is its key. */
export const ClosuresDocument = defineObject(() => ({
  changes: z.array(SessionChange).max(CLOSURES_MAX).meta({ description: 'Changes, one for each date.' }),
})).meta({ id: 'ClosuresDocument' });
export type ClosuresDocument = z.infer<typeof ClosuresDocument>;

/** Recorded changes with the version of their document. */
export const VersionedClosures = defineObject(() => ({
  ...ClosuresDocument.shape,
  version: z.int().min(1).meta({ description: 'Version of the recorded changes.' }),
}));
export type VersionedClosures = z.infer<typeof VersionedClosures>;

export const RecordedClosures = z.record(z.string().min(1).max(64), VersionedClosures);
export type RecordedClosures = z.infer<typeof RecordedClosures>;

interface ClosuresByCalendar {
  readonly closures?: RecordedClosures | undefined;
}

/**
 * Returns the recorded changes of the calendars in several documents. If there are several versions for one calendar,
 * returns the newest.
 */
export function listClosures(documents: Readonly<Record<string, ClosuresByCalendar>>): RecordedClosures {
  const latestClosures: RecordedClosures = {};
  for (const { closures = {} } of Object.values(documents))
    for (const [code, recorded] of Object.entries(closures))
      if ((latestClosures[code]?.version ?? 0) < recorded.version) latestClosures[code] = recorded;
  return latestClosures;
}

/** Describes a recorded change, as in `closed: National day of mourning`. */
export function describeChange({ session, opens, closes, reason }: SessionChange): string {
  const hours = [
    opens === undefined ? [] : [`opens ${opens}`],
    closes === undefined ? [] : [`closes ${closes}`],
  ].flat();
  const changePhrase = session === 'closed' ? 'closed' : hours.length === 0 ? 'additional session' : hours.join(', ');
  return `${changePhrase}: ${reason}`;
}

/** Entry of the calendar list, available without expanding the calendar. */
export interface CalendarOption {
  /** Market identifier code (MIC) of the exchange. */
  readonly code: string;
  readonly name: string;
  /** First segment of the IANA time zone. */
  readonly region: string;
  readonly tz: string;
  readonly coverage: CalendarCoverage;
  /** Sources of the sessions; absent if they are unknown. */
  readonly sources?: readonly string[];
}

export interface CalendarCoverage {
  readonly from: Day;
  /** Last day whose closures come from a published list. */
  readonly publishedTo: Day;
  /** Last day that the calendar covers by rules. A calendar based on tables ends with `publishedTo`. */
  readonly to: Day;
}

/** Session that closes before the usual time by a rule of the calendar. */
export interface EarlyClose {
  /** Local closing time, `HH:MM`. */
  readonly closes: string;
  /** Name of the rule, for example of the holiday before which the session closes early. */
  readonly name: string;
}

/** Sessions of one exchange over its whole coverage. */
export interface Calendar extends CalendarOption {
  /** Recorded changes of its sessions; absent if there are none. */
  readonly recorded?: VersionedClosures;
  /** Returns the name of the holiday on which the rules close a day. Returns undefined if there is none. */
  closureOn?(day: Day): string | undefined;
  /** Returns the early close that the rules schedule on a session. Returns undefined if there is none. */
  earlyCloseOn?(day: Day): EarlyClose | undefined;
  /** Session days, ascending. */
  readonly sessions: Int32Array;
  /** Returns true if a day is a session. Days outside the coverage are not. @cost O(1), a bit test */
  isSession(day: Day): boolean;
}

/** Calendars of the service. They are expanded at their first use and cached. */
export interface Calendars {
  /** Returns every accepted code, in code order. */
  list(): readonly CalendarOption[];
  get(code: string): Calendar | undefined;
}

/** Composite calendar: a day is a session if any or all of several exchanges are open. */
export interface CompositeCode {
  readonly rule: 'any' | 'all';
  /** Codes of the exchanges, without duplicates. */
  readonly codes: readonly string[];
}

const COMPOSITE_CODES_MAX = 20;

/** Reads a code such as `any(XLON,XNYS)` or `all(XLON,XNYS)`. Returns undefined for any other code. */
export function parseCompositeCode(code: string): CompositeCode | undefined {
  const [, rule, list] = /^(any|all)\(([^()]+)\)$/.exec(code) ?? [];
  if (list === undefined || (rule !== 'any' && rule !== 'all')) return undefined;
  const codes = list.split(',').map((name) => name.trim());
  const isValid = codes.length >= 2 && codes.length <= COMPOSITE_CODES_MAX && new Set(codes).size === codes.length;
  return isValid ? { rule, codes } : undefined;
}

/** Returns the codes of the exchanges of a calendar: its own, or those of a composite calendar. */
export const listExchangeCodes = (code: string): readonly string[] => parseCompositeCode(code)?.codes ?? [code];

/**
 * Describes why a code is no calendar.
 * @param isKnown returns true for the code of an exchange
 */
export function describeUnknownCalendar(code: string, isKnown: (exchange: string) => boolean): string {
  const composite = parseCompositeCode(code);
  if (composite !== undefined)
    return `Unknown exchange ${composite.codes.filter((name) => !isKnown(name)).join(', ')} in the calendar ${code}`;
  return code.includes('(')
    ? `The calendar ${code} is not any(...) or all(...) with 2 to ${COMPOSITE_CODES_MAX} different exchange codes`
    : `Unknown calendar ${code}`;
}

/** Range of days, and the part that a calendar covers. */
export interface CoveredRange {
  readonly calendar: string;
  readonly requestedStart: Day;
  readonly requestedEnd: Day;
  /** Part of the requested range that the calendar covers. */
  readonly start: Day;
  readonly end: Day;
  readonly trimmedStart: boolean;
  readonly trimmedEnd: boolean;
}

/**
 * Returns the part of a range that a calendar covers, without extrapolation.
 * @throws Refusal CALENDAR_NOT_COVERED if it covers no part of the range
 */
export function requireCoveredRange(
  { code, coverage }: CalendarOption,
  requestedStart: Day,
  requestedEnd: Day,
): CoveredRange {
  const start = Math.max(requestedStart, coverage.from);
  const end = Math.min(requestedEnd, coverage.to);
  if (start > end) {
    const requestedRange = `${formatDay(requestedStart)} to ${formatDay(requestedEnd)}`;
    const coverageText = `${formatDay(coverage.from)} to ${formatDay(coverage.to)}`;
    throw new Refusal(
      'CALENDAR_NOT_COVERED',
      `The calendar ${code} covers ${coverageText}, no part of ${requestedRange}.`,
      {
        calendar: code,
        requested_start: formatDay(requestedStart),
        requested_end: formatDay(requestedEnd),
        coverage_from: formatDay(coverage.from),
        coverage_to: formatDay(coverage.to),
      },
    );
  }
  return {
    calendar: code,
    requestedStart,
    requestedEnd,
    start,
    end,
    trimmedStart: start > requestedStart,
    trimmedEnd: end < requestedEnd,
  };
}

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

/**
 * Returns the number of sessions per year, by which figures are annualised. It is 365 if the days are consecutive and
 * include a weekend, as on a calendar that trades every day, otherwise 252.
 * @param days ascending, without duplicates: the sessions of a calendar, or the dates of a series.
 * @cost O(1)
 */
export function estimatePeriodsPerYear(days: ArrayLike<Day>): number {
  const { length } = days;
  const isUnbroken = length > 1 && days[0]! + length - 1 === days[length - 1];
  return isUnbroken && hasWeekend(days[0]!, length) ? LIMITS.DAYS_PER_YEAR : LIMITS.PERIODS_PER_YEAR;
}

/**
 * Returns the number of returns on common dates per year, by which figures of two series are annualised. It is smaller
 * than the number of sessions per year if a series has dates between two common dates, because a common return then
 * covers several sessions. The series with more of these dates determines the number.
 * @param common dates of both series, ascending; each series contains them
 * @cost O(log n)
 */
export function estimateCommonPeriods(common: ArrayLike<Day>, ...series: readonly ArrayLike<Day>[]): number {
  const returns = common.length - 1;
  if (returns < 1) return estimatePeriodsPerYear(series[0] ?? common);
  const periods = series.map((days) => {
    const count = findLastAtMost(days, common[returns]!) - findFirstAtLeast(days, common[0]!);
    const sessions = estimatePeriodsPerYear(days);
    return count === returns ? sessions : (sessions * returns) / count;
  });
  return Math.min(...periods);
}

/** Returns true if consecutive days include a Saturday and the Sunday after it. */
function hasWeekend(first: Day, count: number): boolean {
  return (SATURDAY - toWeekday(first) + 7) % 7 < count - 1;
}

/** Returns the sessions between two dates, both inclusive. */
export function listSessionsBetween(sessions: Int32Array, start: string, end: string): Int32Array {
  return sessions.slice(
    findFirstAtLeast(sessions, parseValidDay(start)),
    findLastAtMost(sessions, parseValidDay(end)) + 1,
  );
}

/** Calendars of the indices that use a store, for checks of its market. */
export interface UsedCalendars {
  readonly codes: readonly string[];
  /** Recorded changes of calendars; absent if there are none. */
  readonly closures?: RecordedClosures | undefined;
}

/**
 * Returns the calendars of the indices that use a store.
 * @param isActive true if the store is active, or will be: indices without a store then use it. Default: whether it is
 */
export type CalendarsInUse = (datasetId: string, isActive?: boolean) => Promise<UsedCalendars>;
