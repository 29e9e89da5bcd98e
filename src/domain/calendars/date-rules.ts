import { z } from 'zod';
import { defineObject, IsoDate } from '../base/schema.js';
import { countDaysInMonth, type Day, parseValidDay, toCivilDate, toDay, toWeekday } from '../base/time.js';

/**
 * Returns Western Easter Sunday.
 * @source Meeus, Astronomical Algorithms, 2nd edition, chapter 8
 */
export function computeEasterSunday(year: number): Day {
  const a = year % 19;
  const b = Math.floor(year / 100);
  const c = year % 100;
  const d = Math.floor(b / 4);
  const e = b % 4;
  const f = Math.floor((b + 8) / 25);
  const g = Math.floor((b - f + 1) / 3);
  const h = (19 * a + b - d - g + 15) % 30;
  const i = Math.floor(c / 4);
  const k = c % 4;
  const l = (32 + 2 * e + 2 * i - h - k) % 7;
  const m = Math.floor((a + 11 * h + 22 * l) / 451);
  const count = h + l - 7 * m + 114;
  return toDay({ year, month: Math.floor(count / 31), day: (count % 31) + 1 });
}

/**
 * Returns Orthodox Easter Sunday as a Gregorian day: the Julian computus plus the difference between the calendars.
 * @source Meeus, Astronomical Algorithms, 2nd edition, chapter 8
 */
export function computeOrthodoxEasterSunday(year: number): Day {
  const a = year % 4;
  const b = year % 7;
  const c = year % 19;
  const d = (19 * c + 15) % 30;
  const e = (2 * a + 4 * b - d + 34) % 7;
  const count = d + e + 114;
  const julianToGregorian = Math.floor(year / 100) - Math.floor(year / 400) - 2;
  return toDay({ year, month: Math.floor(count / 31), day: (count % 31) + 1 }) + julianToGregorian;
}

/**
 * Files of `data/calendars`, which people write and review. A calendar consists of a week, recurring closures, closures
 * on single dates, special sessions and early closes. `README.md` in that folder explains the notation.
 */

/** Weekdays separated by spaces: `mon tue wed thu fri`. */
const Weekdays = z.string().regex(/^(mon|tue|wed|thu|fri|sat|sun)( (mon|tue|wed|thu|fri|sat|sun))*$/);

/** Years and inclusive spans of years. A span with an open end omits the year: `1978-`, `-1994`, `2002 2012-2014`. */
const Years = z.string().regex(/^(\d{4}|\d{4}-|-\d{4}|\d{4}-\d{4})( (\d{4}|\d{4}-|-\d{4}|\d{4}-\d{4}))*$/);

/** Days by year: `MM-DD` and spans `MM-DD..MM-DD`, separated by spaces. */
const DatesByYear = z.record(
  z.string().regex(/^\d{4}$/),
  z.string().regex(/^\d\d-\d\d(\.\.\d\d-\d\d)?( \d\d-\d\d(\.\.\d\d-\d\d)?)*$/),
);
type DatesByYear = z.infer<typeof DatesByYear>;

/** Movement of a holiday from weekdays on which it is not observed: `sat-1 sun+1`, `sun> same>`. */
const ObservanceEntry = z
  .string()
  .regex(/^((mon|tue|wed|thu|fri|sat|sun)([+-]\d|>)|same>)( ((mon|tue|wed|thu|fri|sat|sun)([+-]\d|>)|same>))*$/);

const Recurring = {
  name: z.string().min(1),
  /** Days of each year: see `parseDateRule`. */
  on: z.union([z.string(), z.array(z.string()).min(1)]),
  only: Weekdays.optional(),
  years: Years.optional(),
  except: Years.optional(),
  note: z.string().optional(),
};

export const RecurringRule = defineObject(() => ({ ...Recurring, observed: ObservanceEntry.optional() }));
export type RecurringRule = z.infer<typeof RecurringRule>;

export const DatedRule = defineObject(() => ({
  name: z.string().min(1),
  dates: DatesByYear,
  note: z.string().optional(),
}));
export type DatedRule = z.infer<typeof DatedRule>;

export const ClosureRule = z.union([DatedRule, RecurringRule]);
export type ClosureRule = z.infer<typeof ClosureRule>;

const LocalTime = z.string().regex(/^\d\d:\d\d$/);

export const ShortSession = z.union([
  defineObject(() => ({ at: LocalTime, name: z.string().min(1), dates: DatesByYear, note: z.string().optional() })),
  defineObject(() => ({
    at: LocalTime,
    ...Recurring,
    observed: z.union([z.literal('previous-session'), ObservanceEntry]).optional(),
  })),
]);
export type ShortSession = z.infer<typeof ShortSession>;

export const FamilyFile = defineObject(() => ({
  name: z.string().min(1),
  closed: z.array(ClosureRule).default([]),
  early: z.array(ShortSession).default([]),
}));
export type FamilyFile = z.infer<typeof FamilyFile>;

const Sources = z.array(z.string().min(1)).default([]);

export const CoveredDates = defineObject(() => ({ from: IsoDate, publishedTo: IsoDate, to: IsoDate }));

export const RuleFile = defineObject(() => ({
  code: z.string().min(1),
  name: z.string().min(1),
  country: z.string().min(1),
  tz: z.string().min(1),
  extends: z.array(z.string()).default([]),
  /** Working days: each entry applies from its date `from` on. */
  week: z.array(z.strictObject({ from: IsoDate.optional(), days: Weekdays })).min(1),
  /** Local trading hours; the last entry that applies to a day is used. */
  hours: z
    .array(
      z.strictObject({
        from: IsoDate.optional(),
        /** Weekdays to which the entry applies. */
        days: Weekdays.optional(),
        /** Days of each year to which the entry applies, `MM-DD..MM-DD`. */
        season: z
          .string()
          .regex(/^\d\d-\d\d\.\.\d\d-\d\d$/)
          .optional(),
        open: LocalTime,
        close: LocalTime,
        breaks: z.array(z.tuple([LocalTime, LocalTime])).default([]),
        /** -1 if the session opens on the evening before its date. */
        openDay: z.literal([-1, 0]).default(0),
      }),
    )
    .min(1),
  coverage: CoveredDates,
  sources: Sources,
  closed: z.array(ClosureRule).default([]),
  /** Sessions on days that the working week or a rule would close. */
  open: z.array(DatedRule).default([]),
  early: z.array(ShortSession).default([]),
}));
export type RuleFile = z.infer<typeof RuleFile>;

/** Feast days that are listed instead of computed: by table name, then dates by year. */
export const DateTables = defineObject(() => ({ about: z.string(), tables: z.record(z.string(), DatesByYear) }));
export type DateTables = z.infer<typeof DateTables>;

/** Aliases: codes with the sessions of another code. */
export const AliasFile = z.array(
  defineObject(() => ({
    code: z.string().min(1),
    name: z.string().min(1),
    uses: z.string().min(1),
    note: z.string().optional(),
  })),
);
export type AliasFile = z.infer<typeof AliasFile>;

/** Entries of `index.json`, the list of calendars derived from the rule files and the aliases. */
export const IndexEntry = defineObject(() => ({
  code: z.string(),
  name: z.string(),
  tz: z.string(),
  rules: z.string(),
  coverage: CoveredDates,
  sources: Sources,
}));
export type IndexEntry = z.infer<typeof IndexEntry>;
export const CalendarIndex = z.array(IndexEntry);
export type CalendarIndex = z.infer<typeof CalendarIndex>;

/** Weekdays in the notation of the rule files, 0 Monday to 6 Sunday as in `toWeekday`. */
export const WEEKDAY_WORDS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

function parseWeekday(word: string): number {
  const weekday = WEEKDAY_WORDS.indexOf(word as (typeof WEEKDAY_WORDS)[number]);
  if (weekday < 0) throw new Error(`not a weekday: ${word}; expected one of ${WEEKDAY_WORDS.join(', ')}`);
  return weekday;
}

/** Returns a mask of weekdays, one bit per day, Monday lowest. */
export function parseWeekdayMask(words: string): number {
  return words.split(' ').reduce((mask, word) => mask | (1 << parseWeekday(word)), 0);
}

/** Function that returns the days of a rule in a year; empty if the rule has no day in that year. */
export type YearRule = (year: number) => readonly Day[];

export type FeastDays = Readonly<Record<string, DatesByYear>>;

/**
 * Parses the rule of an `on` text:
 * - `12-25`, a day of the year (`02-29` only in leap years);
 * - `mon#1/05`, `mon#last/05`, the nth or last such weekday of a month;
 * - `mon>=05-25`, `mon<=05-24`, the first such weekday on or after, the last on or before a day;
 * - `easter`, `orthodox-easter`, or the name of a table of feast days; each with an optional offset in days:
 *   `easter-2`, `thu#4/11+1`.
 * @throws Error if the text has none of these forms: the rule file is wrong.
 */
export function parseDateRule(text: string, feasts: FeastDays): YearRule {
  const baseRule = parseBase(text, feasts);
  if (baseRule !== undefined) return baseRule;
  const shift = /[+-]\d{1,2}$/.exec(text)?.[0];
  const unshiftedRule = shift === undefined ? undefined : parseBase(text.slice(0, -shift.length), feasts);
  if (unshiftedRule === undefined) throw new Error(`not a date rule: ${text}`);
  const days = Number(shift);
  return (year) => unshiftedRule(year).map((day) => day + days);
}

function parseBase(base: string, feasts: FeastDays): YearRule | undefined {
  if (base === 'easter') return (year) => [computeEasterSunday(year)];
  if (base === 'orthodox-easter') return (year) => [computeOrthodoxEasterSunday(year)];
  const feast = feasts[base];
  if (feast !== undefined) return (year) => listDatesOfYear(feast, year);
  const fixedDate = /^(\d\d)-(\d\d)$/.exec(base);
  if (fixedDate) return (year) => findDayInYear(year, Number(fixedDate[1]), Number(fixedDate[2]));
  const nthWeekday = /^([a-z]{3})#(\d|last)\/(\d\d)$/.exec(base);
  if (nthWeekday) return createNthWeekdayRule(parseWeekday(nthWeekday[1]!), nthWeekday[2]!, Number(nthWeekday[3]));
  const nearWeekday = /^([a-z]{3})([<>])=(\d\d)-(\d\d)$/.exec(base);
  if (nearWeekday)
    return createNearWeekdayRule(
      parseWeekday(nearWeekday[1]!),
      nearWeekday[2] === '>',
      Number(nearWeekday[3]),
      Number(nearWeekday[4]),
    );
  return undefined;
}

function findDayInYear(year: number, month: number, day: number): readonly Day[] {
  return day <= countDaysInMonth(year, month) ? [toDay({ year, month, day })] : [];
}

function createNthWeekdayRule(weekday: number, which: string, month: number): YearRule {
  if (which === 'last')
    return (year) => [findWeekdayOnOrBefore(toDay({ year, month, day: countDaysInMonth(year, month) }), weekday)];
  const weeks = Number(which) - 1;
  return (year) => {
    const day = findWeekdayOnOrAfter(toDay({ year, month, day: 1 }), weekday) + 7 * weeks;
    return toCivilDate(day).month === month ? [day] : [];
  };
}

function createNearWeekdayRule(weekday: number, isAfter: boolean, month: number, dayOfMonth: number): YearRule {
  return (year) => {
    const day = toDay({ year, month, day: dayOfMonth });
    return [isAfter ? findWeekdayOnOrAfter(day, weekday) : findWeekdayOnOrBefore(day, weekday)];
  };
}

export function findWeekdayOnOrAfter(day: Day, weekday: number): Day {
  return day + ((weekday - toWeekday(day) + 7) % 7);
}

export function findWeekdayOnOrBefore(day: Day, weekday: number): Day {
  return day - ((toWeekday(day) - weekday + 7) % 7);
}

/** Returns every day of a table, ascending within a year. */
export function listDates(dates: DatesByYear): Day[] {
  return Object.keys(dates).flatMap((year) => listDatesOfYear(dates, Number(year)));
}

function listDatesOfYear(dates: DatesByYear, year: number): Day[] {
  const text = dates[String(year)];
  return text === undefined ? [] : text.split(' ').flatMap((item) => listSpan(item, year));
}

function listSpan(item: string, year: number): Day[] {
  const [first, last = first] = item.split('..').map((monthDay) => parseValidDay(`${year}-${monthDay}`));
  if (first === undefined || last === undefined || last < first)
    throw new Error(`not a span of days: ${item} in ${year}`);
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** Rule that moves a holiday, depending on its weekday. */
export interface Observance {
  /** Days to move by weekday, 0 Monday to 6 Sunday. */
  readonly shifts: readonly number[];
  /** Weekdays from which the holiday moves to the next free business day. */
  readonly toNextFree: ReadonlySet<number>;
  /** True if the holiday moves to the next free business day when it coincides with another holiday. */
  readonly onClash: boolean;
}

/**
 * Parses the movement of a holiday. @param text as in the rule files: `sat-1 sun+1`, `sun> same>`. Undefined if the
 * holiday never moves.
 */
export function parseObservance(text: string | undefined): Observance {
  const shifts = [0, 0, 0, 0, 0, 0, 0];
  const toNextFree = new Set<number>();
  let isOnClash = false;
  for (const item of text?.split(' ') ?? []) {
    const weekday = item.slice(0, 3);
    if (item === 'same>') isOnClash = true;
    else if (item.endsWith('>')) toNextFree.add(parseWeekday(weekday));
    else shifts[parseWeekday(weekday)] = Number(item.slice(3));
  }
  return { shifts, toNextFree, onClash: isOnClash };
}

export interface Holiday {
  /** Day of the holiday after its fixed shift. */
  readonly day: Day;
  readonly observance: Observance;
  readonly name: string;
}

/**
 * Returns the days closed by holidays, with the name of the first holiday on each. Holidays that move only on a clash
 * with another holiday are placed last, in list order. Then each holiday that needs a free day takes the next business
 * day without a holiday, in date order.
 * @param isBusinessDay must depend only on the weekday
 */
export function listObservedDays(holidays: readonly Holiday[], isBusinessDay: (day: Day) => boolean): Map<Day, string> {
  const closedDays = new Map<Day, string>();
  const movedHolidays: Pick<Holiday, 'day' | 'name'>[] = [];
  const closeDay = (day: Day, name: string) => closedDays.has(day) || closedDays.set(day, name);
  const fixedHolidays = holidays.filter(({ observance }) => !observance.onClash);
  const laterHolidays = holidays.filter(({ observance }) => observance.onClash);
  for (const { day, observance, name } of [...fixedHolidays, ...laterHolidays]) {
    if (observance.toNextFree.has(toWeekday(day)) || (observance.onClash && closedDays.has(day)))
      movedHolidays.push({ day, name });
    closeDay(day, name);
  }
  for (const { day, name } of movedHolidays.toSorted((a, b) => a.day - b.day)) {
    let freeDay = day + 1;
    while (closedDays.has(freeDay) || !isBusinessDay(freeDay)) freeDay++;
    closeDay(freeDay, name);
  }
  return closedDays;
}
