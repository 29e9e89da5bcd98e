import { z } from 'zod';
import { IsoDate } from '../base/schema.js';
import { type Day, parseDay, parseValidDay, toCivilDate, toWeekday } from '../base/time.js';
import type { Calendar } from './calendar.js';

/** Sessions of an exchange from another source, for comparison. */
export interface SessionReference {
  readonly code: string;
  /** First and last day that the source covers. */
  readonly from: Day;
  readonly to: Day;
  isSession(day: Day): boolean;
}

const Code = z.string().min(1).max(64);

/** Maximum length of a faulty entry in a message. */
const ENTRY_LENGTH_MAX = 80;

const ListedSessions = z.object({
  code: Code,
  sessions: z.array(IsoDate).min(1),
  range: z.tuple([IsoDate, IsoDate]).optional(),
});

/** Reference with dated weeks (seven digits, Monday first), closures, and sessions on days off. */
const ListedClosures = z.object({
  code: Code,
  range: z.tuple([IsoDate, IsoDate]),
  weekmask: z.array(z.object({ from: IsoDate.nullable(), mask: z.string().regex(/^[01]{7}$/) })).min(1),
  holidays: z.array(IsoDate),
  special_sessions: z.array(IsoDate).default([]),
});

/** Corrections of a reference by code: days to close and days to open. */
export const Corrections = z.record(
  Code,
  z.array(z.object({ close: z.array(IsoDate), open: z.array(IsoDate), confidence: z.string().default('') })),
);
export type Corrections = z.infer<typeof Corrections>;

/** Reads corrections from parsed JSON. @throws Error that states the first faulty entry */
export const parseCorrections = (value: unknown): Corrections => parseEntries(Corrections, value);

/**
 * Reads a reference from parsed JSON: `sessions` by date, or `range`, `weekmask`, `holidays` and `special_sessions`.
 * @throws Error that states the first faulty entry, or the members of both forms if the value has neither
 */
export function readSessionReference(value: unknown): SessionReference {
  const members = typeof value === 'object' && value !== null ? value : {};
  if (!('sessions' in members) && !('holidays' in members))
    throw new Error('it must contain code and sessions, or code, range, weekmask, holidays and special_sessions');
  if ('sessions' in members) {
    const { code, sessions, range } = parseEntries(ListedSessions, value);
    return createReference(code, sessions.map(parseValidDay), range);
  }
  const { code, range, weekmask, holidays, special_sessions } = parseEntries(ListedClosures, value);
  const weeks = weekmask.map(({ from, mask }) => ({ from: from === null ? -Infinity : parseValidDay(from), mask }));
  const closedDays = new Set(holidays.map(parseValidDay));
  const openDays = new Set(special_sessions.map(parseValidDay));
  const isBusinessDay = (day: Day) => weeks.findLast(({ from }) => from <= day)?.mask[toWeekday(day)] === '1';
  return {
    code,
    from: parseValidDay(range[0]),
    to: parseValidDay(range[1]),
    isSession: (day) => openDays.has(day) || (isBusinessDay(day) && !closedDays.has(day)),
  };
}

/**
 * Reads a reference from CSV with a column `date`, one row per session.
 * @throws Error if there is no such column, or it contains a value that is not a date
 */
export function parseSessionReference(code: string, text: string): SessionReference {
  const [header = '', ...lines] = text.split(/\r?\n/);
  const column = header.split(',').indexOf('date');
  const sessions = lines.flatMap((line, i): Day[] => {
    if (line === '' || column < 0) return [];
    const cell = line.split(',')[column] ?? '';
    const day = parseDay(cell.slice(0, 10));
    if (day === undefined) throw new Error(`date in line ${i + 2} is ${JSON.stringify(cell)}, not YYYY-MM-DD`);
    return [day];
  });
  if (sessions.length === 0) throw new Error('a column named "date" with dates is required');
  return createReference(code, sessions);
}

/** Parses a value. @throws Error that states the first faulty entry */
function parseEntries<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!; // a failure has an issue
  const place = path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text === '' ? '' : '.'}${String(key)}`),
    '',
  );
  const entry = path.reduce<unknown>(
    (parent, key) => (parent as Record<PropertyKey, unknown> | undefined)?.[key],
    value,
  );
  const text = entry === undefined ? 'missing' : (JSON.stringify(entry) ?? String(entry)).slice(0, ENTRY_LENGTH_MAX);
  throw new Error(`${place} is ${text}: ${message}`);
}

function createReference(code: string, sessions: readonly Day[], range?: readonly [string, string]): SessionReference {
  const days = new Set(sessions);
  const [first, last] = range?.map(parseValidDay) ?? [Math.min(...sessions), Math.max(...sessions)];
  return { code, from: first!, to: last!, isSession: (day) => days.has(day) };
}

export function correctReference(
  reference: SessionReference,
  corrections: Corrections,
  confidences: readonly string[],
): SessionReference {
  const acceptedCorrections = (corrections[reference.code] ?? []).filter(({ confidence }) =>
    confidences.includes(confidence),
  );
  const closedDays = new Set(acceptedCorrections.flatMap(({ close }) => close.map(parseValidDay)));
  const openDays = new Set(acceptedCorrections.flatMap(({ open }) => open.map(parseValidDay)));
  return { ...reference, isSession: (day) => openDays.has(day) || (!closedDays.has(day) && reference.isSession(day)) };
}

export interface SessionComparison {
  readonly code: string;
  /** Days that both calendars cover. If there are none, `to` is before `from`. */
  readonly from: Day;
  readonly to: Day;
  readonly years: readonly YearDifference[];
}

export interface YearDifference {
  readonly year: number;
  /** Sessions of the reference on which the calendar is closed. */
  readonly missing: readonly Day[];
  /** Sessions of the calendar on which the reference is closed. */
  readonly extra: readonly Day[];
}

/** Returns the years in which a calendar and a reference differ, over the days that both cover. */
export function compareSessions(calendar: Calendar, reference: SessionReference): SessionComparison {
  const from = Math.max(calendar.coverage.from, reference.from);
  const to = Math.min(calendar.coverage.to, reference.to);
  const years = new Map<number, { missing: Day[]; extra: Day[] }>();
  for (let day = from; day <= to; day++) {
    const isOurSession = calendar.isSession(day);
    if (isOurSession === reference.isSession(day)) continue;
    const { year } = toCivilDate(day);
    const difference = years.get(year) ?? { missing: [], extra: [] };
    years.set(year, difference);
    (isOurSession ? difference.extra : difference.missing).push(day);
  }
  return { code: calendar.code, from, to, years: [...years].map(([year, difference]) => ({ year, ...difference })) };
}
