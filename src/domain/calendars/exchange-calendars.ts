import { z } from 'zod';
import { compareText } from '../base/findings.js';
import { findLastAtMost } from '../base/numbers.js';
import { defineObject, IsoDate } from '../base/schema.js';
import {
  countDaysInMonth,
  type Day,
  formatDay,
  parseDay,
  parseValidDay,
  toCivilDate,
  toDay,
  toWeekday,
} from '../base/time.js';
import {
  type Calendar,
  type CalendarCoverage,
  type CalendarOption,
  type Calendars,
  type CompositeCode,
  type EarlyClose,
  parseCompositeCode,
  type RecordedClosures,
  type SessionChange,
  type VersionedClosures,
} from './calendar.js';

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

const RecurringRule = defineObject(() => ({ ...Recurring, observed: ObservanceEntry.optional() }));
type RecurringRule = z.infer<typeof RecurringRule>;

const DatedRule = defineObject(() => ({
  name: z.string().min(1),
  dates: DatesByYear,
  note: z.string().optional(),
}));
type DatedRule = z.infer<typeof DatedRule>;

const ClosureRule = z.union([DatedRule, RecurringRule]);
type ClosureRule = z.infer<typeof ClosureRule>;

const LocalTime = z.string().regex(/^\d\d:\d\d$/);

const ShortSession = z.union([
  defineObject(() => ({ at: LocalTime, name: z.string().min(1), dates: DatesByYear, note: z.string().optional() })),
  defineObject(() => ({
    at: LocalTime,
    ...Recurring,
    observed: z.union([z.literal('previous-session'), ObservanceEntry]).optional(),
  })),
]);
type ShortSession = z.infer<typeof ShortSession>;

export const FamilyFile = defineObject(() => ({
  name: z.string().min(1),
  closed: z.array(ClosureRule).default([]),
  early: z.array(ShortSession).default([]),
}));
export type FamilyFile = z.infer<typeof FamilyFile>;

const Sources = z.array(z.string().min(1)).default([]);

const CoveredDates = defineObject(() => ({ from: IsoDate, publishedTo: IsoDate, to: IsoDate }));

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
const DateTables = defineObject(() => ({ about: z.string(), tables: z.record(z.string(), DatesByYear) }));
type DateTables = z.infer<typeof DateTables>;

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
const IndexEntry = defineObject(() => ({
  code: z.string(),
  name: z.string(),
  tz: z.string(),
  rules: z.string(),
  coverage: CoveredDates,
  sources: Sources,
}));
type IndexEntry = z.infer<typeof IndexEntry>;
export const CalendarIndex = z.array(IndexEntry);
export type CalendarIndex = z.infer<typeof CalendarIndex>;

/** Weekdays in the notation of the rule files, 0 Monday to 6 Sunday as in `toWeekday`. */
const WEEKDAY_WORDS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

function parseWeekday(word: string): number {
  const weekday = WEEKDAY_WORDS.indexOf(word as (typeof WEEKDAY_WORDS)[number]);
  if (weekday < 0) throw new Error(`not a weekday: ${word}; expected one of ${WEEKDAY_WORDS.join(', ')}`);
  return weekday;
}

/** Returns a mask of weekdays, one bit per day, Monday lowest. */
function parseWeekdayMask(words: string): number {
  return words.split(' ').reduce((mask, word) => mask | (1 << parseWeekday(word)), 0);
}

/** Function that returns the days of a rule in a year; empty if the rule has no day in that year. */
type YearRule = (year: number) => readonly Day[];

type FeastDays = Readonly<Record<string, DatesByYear>>;

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
interface Observance {
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

interface Holiday {
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

/**
 * Builds the index of a calendar folder: one entry per rule file and per alias, in code order.
 * @throws Error if a code occurs twice or an alias uses a code without rules
 */
export function indexCalendars(files: readonly RuleFile[], aliases: AliasFile): CalendarIndex {
  const byCode = new Map(files.map((file) => [file.code, file]));
  const ruleEntries = files.map(({ code, name, tz, coverage, sources }) => ({
    code,
    name,
    tz,
    rules: code,
    coverage,
    sources,
  }));
  const aliasEntries = aliases.map(({ code, name, uses }) => {
    const rules = byCode.get(uses);
    if (rules === undefined) throw new Error(`the alias ${code} uses ${uses}, which has no rule file`);
    return { code, name, tz: rules.tz, rules: uses, coverage: rules.coverage, sources: rules.sources };
  });
  const index = [...ruleEntries, ...aliasEntries].sort((a, b) => compareText(a.code, b.code));
  const duplicateEntry = index.find((entry, i) => entry.code === index[i + 1]?.code);
  if (duplicateEntry !== undefined) throw new Error(`the code ${duplicateEntry.code} occurs twice`);
  return index;
}

/**
 * Trading hours of an exchange on a day, in its local time. Historical hours are indicative; see the README of the
 * calendars.
 */
interface TradingHours {
  /** Opening time, `HH:MM`. */
  readonly open: string;
  /** Closing time, `HH:MM`; at or before `open` if the session ends on the next day. */
  readonly close: string;
  /** Breaks between open and close. */
  readonly breaks: readonly (readonly [string, string])[];
  /** -1 if the session opens on the evening before its date. */
  readonly openDay: -1 | 0;
}

/** Creates a lookup of the usual trading hours of a day, from the last entry that applies. */
function createHoursLookup(entries: RuleFile['hours']): (day: Day) => TradingHours {
  const datedHours = entries.map((entry) => ({
    hours: { open: entry.open, close: entry.close, breaks: entry.breaks, openDay: entry.openDay },
    from: entry.from === undefined ? -Infinity : parseValidDay(entry.from),
    mask: entry.days === undefined ? 0b1111111 : parseWeekdayMask(entry.days),
    season: entry.season?.split('..'),
  }));
  return (day) => {
    const monthDay = formatDay(day).slice(5);
    const entry = datedHours.findLast(
      ({ from, mask, season }) =>
        from <= day &&
        ((mask >>> toWeekday(day)) & 1) === 1 &&
        (season === undefined || (season[0]! <= monthDay && monthDay <= season[1]!)),
    );
    if (entry === undefined) throw new Error(`the calendar has no hours on ${formatDay(day)}`);
    return entry.hours;
  };
}

/** Returns the hours of a session with another closing time. Omits a break that ends at or after that time. */
function closeHoursAt(hours: TradingHours, close: string): TradingHours {
  return { ...hours, close, breaks: hours.breaks.filter(([, end]) => end < close) };
}

/**
 * Returns true if a closing time is before the usual close of a session. A close at or before the opening time is on the
 * next day, unless the session opens on the evening before.
 */
function closesEarlier(close: string, { open, close: usual, openDay }: TradingHours): boolean {
  const isNextDay = (time: string) => openDay === 0 && time <= open;
  return isNextDay(close) === isNextDay(usual) ? close < usual : isNextDay(usual);
}

/** Days of a calendar, computed over its whole coverage. */
interface Expansion {
  /** Session days, ascending. */
  readonly sessions: Int32Array;
  /** One bit per day from the first covered day. */
  readonly bits: Uint32Array;
  /** Local closing time of the sessions with an unusual closing time, with the names of the rules. */
  readonly unusualCloses: ReadonlyMap<Day, EarlyClose>;
  /** Returns the close of a session that closes before its usual time. Returns undefined for other sessions. */
  readonly earlyCloseOn: (session: Day) => EarlyClose | undefined;
  /** Names of the holidays on closed days. */
  readonly closures: ReadonlyMap<Day, string>;
  readonly hoursOn: (session: Day) => TradingHours;
}

interface ExpansionSources {
  readonly file: RuleFile;
  readonly families: readonly FamilyFile[];
  readonly feasts: FeastDays;
}

/**
 * Computes the sessions, holidays and hours of a calendar. @cost O(days + rules x years): about 5 ms for sixty years
 */
function expandCalendar({ file, families, feasts }: ExpansionSources): Expansion {
  const coverage = createCoverage(file.coverage);
  const isBusinessDay = createWeekTest(file);
  const closures = [...families.flatMap((family) => family.closed), ...file.closed];
  const closedDays = listObservedDays(listHolidays(closures, coverage, feasts), isBusinessDay);
  const openDays = new Set(file.open.flatMap((rule) => listDates(rule.dates)));
  const isSession = (day: Day) => openDays.has(day) || (isBusinessDay(day) && !closedDays.has(day));
  const { sessions, bits } = collectDays(coverage, isSession);
  const shortSessions = [...families.flatMap((family) => family.early), ...file.early];
  const unusualCloses = listUnusualCloses(shortSessions, coverage, feasts, isSession);
  const findUsualHours = createHoursLookup(file.hours);
  const findHours = (session: Day) => {
    const close = unusualCloses.get(session);
    return close === undefined ? findUsualHours(session) : closeHoursAt(findUsualHours(session), close.closes);
  };
  const findEarlyClose = (session: Day) => {
    const close = unusualCloses.get(session);
    return close !== undefined && closesEarlier(close.closes, findUsualHours(session)) ? close : undefined;
  };
  return {
    sessions,
    bits,
    unusualCloses,
    earlyCloseOn: findEarlyClose,
    closures: closedDays,
    hoursOn: findHours,
  };
}

function createCoverage({ from, publishedTo, to }: RuleFile['coverage']): CalendarCoverage {
  return { from: parseValidDay(from), publishedTo: parseValidDay(publishedTo), to: parseValidDay(to) };
}

function createWeekTest(file: RuleFile): (day: Day) => boolean {
  const weeks = file.week.map(({ from, days }) => ({
    from: from === undefined ? -Infinity : parseValidDay(from),
    mask: parseWeekdayMask(days),
  }));
  return (day) => {
    const week = weeks.findLast(({ from }) => from <= day);
    return week !== undefined && ((week.mask >>> toWeekday(day)) & 1) === 1;
  };
}

function listHolidays(rules: readonly ClosureRule[], coverage: CalendarCoverage, feasts: FeastDays): Holiday[] {
  const defaultObservance = parseObservance(undefined);
  return rules.flatMap((rule) => {
    const { name } = rule;
    if (isDated(rule)) return listDates(rule.dates).map((day) => ({ day, observance: defaultObservance, name }));
    const observance = parseObservance(rule.observed);
    return listRuleDays(rule, coverage, feasts).map((day) => ({
      day: day + observance.shifts[toWeekday(day)]!,
      observance,
      name,
    }));
  });
}

const isDated = (rule: ClosureRule): rule is DatedRule => 'dates' in rule;

interface Recurrence {
  readonly on: string | readonly string[];
  readonly only?: string | undefined;
  readonly years?: string | undefined;
  readonly except?: string | undefined;
}

/**
 * Returns the days of a recurring rule in the covered years and in the adjacent years. A holiday of an adjacent year
 * may move into a covered year.
 */
function listRuleDays({ on, only, years, except }: Recurrence, coverage: CalendarCoverage, feasts: FeastDays): Day[] {
  const rules = (typeof on === 'string' ? [on] : on).map((text) => parseDateRule(text, feasts));
  const applies = createYearTest(years);
  const isExcepted = except === undefined ? () => false : createYearTest(except);
  const mask = only === undefined ? 0b1111111 : parseWeekdayMask(only);
  const days: Day[] = [];
  for (let year = toCivilDate(coverage.from).year - 1; year <= toCivilDate(coverage.to).year + 1; year++) {
    if (!applies(year) || isExcepted(year)) continue;
    for (const rule of rules) {
      for (const day of rule(year)) if ((mask >>> toWeekday(day)) & 1) days.push(day);
    }
  }
  return days;
}

function createYearTest(text: string | undefined): (year: number) => boolean {
  if (text === undefined) return () => true;
  const spans = text.split(' ').map((span) => {
    const [first, last = first] = span.split('-');
    return { first: first === '' ? -Infinity : Number(first), last: last === '' ? Infinity : Number(last) };
  });
  return (year) => spans.some(({ first, last }) => first <= year && year <= last);
}

function collectDays(
  { from, to }: CalendarCoverage,
  isSession: (day: Day) => boolean,
): Pick<Expansion, 'sessions' | 'bits'> {
  const length = to - from + 1;
  const bits = new Uint32Array((length + 31) >>> 5);
  const days = new Int32Array(length);
  let count = 0;
  for (let i = 0; i < length; i++) {
    if (!isSession(from + i)) continue;
    days[count++] = from + i;
    bits[i >>> 5]! |= 1 << (i & 31);
  }
  return { sessions: days.slice(0, count), bits };
}

function listUnusualCloses(
  rules: readonly ShortSession[],
  coverage: CalendarCoverage,
  feasts: FeastDays,
  isSession: (day: Day) => boolean,
): Map<Day, EarlyClose> {
  const closes = new Map<Day, EarlyClose>();
  for (const rule of rules) {
    for (const day of 'dates' in rule ? listDates(rule.dates) : listShortDays(rule, coverage, feasts, isSession)) {
      if (day >= coverage.from && day <= coverage.to && isSession(day))
        closes.set(day, { closes: rule.at, name: rule.name });
    }
  }
  return closes;
}

/**
 * Maximum length of a closure before which the last session closes early. The search for that session goes back this
 * many days.
 */
const CLOSURE_DAYS_MAX = 14;

function listShortDays(
  rule: Recurrence & { readonly observed?: string | undefined },
  coverage: CalendarCoverage,
  feasts: FeastDays,
  isSession: (day: Day) => boolean,
): Day[] {
  const days = listRuleDays(rule, coverage, feasts);
  if (rule.observed !== 'previous-session') {
    const { shifts } = parseObservance(rule.observed);
    return days.map((day) => day + shifts[toWeekday(day)]!);
  }
  return days.map((day) => {
    let session = day;
    while (!isSession(session) && day - session < CLOSURE_DAYS_MAX) session--;
    return session;
  });
}

/** Calendar with trading hours. */
export interface ExchangeCalendar extends Calendar {
  /** Local closing time `HH:MM` of sessions that close early. */
  readonly earlyCloses: ReadonlyMap<Day, string>;
  /** Returns the local trading hours of a session. Returns undefined on other days. */
  hoursOn(day: Day): TradingHours | undefined;
}

export interface ExchangeCalendars extends Calendars {
  get(code: string): ExchangeCalendar | undefined;
}

interface CalendarSources {
  /** Every accepted code, in any order. */
  readonly index: CalendarIndex;
  /**
   * Returns a file of the calendar folder as parsed JSON, by its name without `.json`: `XLON`, `families/euronext`,
   * `dates`.
   */
  readonly read: (name: string) => unknown;
}

/**
 * Creates the calendars of the service. A file is read, and a calendar expanded, at its first use. Expanded calendars
 * are cached and never change. Codes with the same sessions share one expansion.
 */
export function createCalendars({ index, read }: CalendarSources): ExchangeCalendars {
  const options = index.map(createOption).sort((a, b) => (a.code < b.code ? -1 : 1));
  const entries = new Map(index.map((entry) => [entry.code, entry]));
  const expansions = new Map<string, Expansion>();
  const calendars = new Map<string, ExchangeCalendar>();
  let tables: DateTables['tables'] | undefined;

  const findExpansion = (rules: string): Expansion => {
    const cachedCalendar = expansions.get(rules);
    if (cachedCalendar !== undefined) return cachedCalendar;
    tables ??= DateTables.parse(read('dates')).tables;
    const file = RuleFile.parse(read(createCalendarFileName(rules)));
    const families = file.extends.map((name) => FamilyFile.parse(read(`families/${name}`)));
    const expansion = expandCalendar({ file, families, feasts: tables });
    expansions.set(rules, expansion);
    return expansion;
  };

  const get = (code: string): ExchangeCalendar | undefined => {
    const exchangeCalendar = calendars.get(code);
    if (exchangeCalendar !== undefined) return exchangeCalendar;
    const entry = entries.get(code);
    const calendar =
      entry === undefined ? findComposite(code, get) : createCalendar(createOption(entry), findExpansion(entry.rules));
    if (calendar !== undefined) calendars.set(code, calendar);
    return calendar;
  };
  return { list: () => options, get };
}

/** Returns the composite calendar of a code. Returns undefined if the code is not composite, or an exchange is unknown. */
function findComposite(
  code: string,
  get: (code: string) => ExchangeCalendar | undefined,
): ExchangeCalendar | undefined {
  const composite = parseCompositeCode(code);
  if (composite === undefined) return undefined;
  const members = composite.codes.flatMap((own) => (parseCompositeCode(own) === undefined ? (get(own) ?? []) : []));
  return members.length === composite.codes.length ? composeCalendar(code, composite, members) : undefined;
}

/**
 * Creates a calendar whose sessions are those of any or of all of several calendars, on the days that all of them cover.
 * Hours and early closes are those of the first calendar with a session on the day, in its local time.
 */
function composeCalendar(
  code: string,
  { rule, codes }: CompositeCode,
  members: readonly ExchangeCalendar[],
): ExchangeCalendar {
  const [first] = members;
  const coverage = {
    from: Math.max(...members.map((member) => member.coverage.from)),
    publishedTo: Math.min(...members.map((member) => member.coverage.publishedTo)),
    to: Math.min(...members.map((member) => member.coverage.to)),
  };
  const isSession = (day: Day): boolean =>
    day >= coverage.from &&
    day <= coverage.to &&
    (rule === 'any'
      ? members.some((member) => member.isSession(day))
      : members.every((member) => member.isSession(day)));
  const days = new Set(members.flatMap(({ sessions }) => [...sessions]));
  const sessions = Int32Array.from([...days].filter(isSession)).toSorted();
  const findOpen = (day: Day) => (isSession(day) ? members.find((member) => member.isSession(day)) : undefined);
  const earlyCloses = new Map<Day, string>();
  for (const { earlyCloses: own } of members)
    for (const [day] of own) {
      const closes = findOpen(day)?.earlyCloses.get(day);
      if (closes !== undefined) earlyCloses.set(day, closes);
    }
  return {
    code,
    name: `${rule === 'any' ? 'Any' : 'All'} of ${codes.join(', ')}`,
    region: first!.region,
    tz: first!.tz,
    coverage,
    sessions,
    isSession,
    earlyCloses,
    earlyCloseOn: (day) => findOpen(day)?.earlyCloseOn?.(day),
    closureOn(day) {
      if (isSession(day)) return undefined;
      const names = new Set(members.flatMap((member) => member.closureOn?.(day) ?? []));
      return names.size === 0 ? undefined : [...names].join('; ');
    },
    hoursOn: (day) => findOpen(day)?.hoursOn(day),
  };
}

/** Returns the file name of a code, in which a slash is replaced. */
export function createCalendarFileName(code: string): string {
  return code.replace('/', '-');
}

function createOption({ code, name, tz, coverage, sources }: IndexEntry): CalendarOption {
  return { code, name, region: tz.split('/')[0]!, tz, coverage: createCoverage(coverage), sources };
}

function createCalendar(
  option: CalendarOption,
  { sessions, bits, unusualCloses, earlyCloseOn, closures, hoursOn }: Expansion,
): ExchangeCalendar {
  const { from, to } = option.coverage;
  const isSession = (day: Day): boolean => {
    if (!(day >= from && day <= to)) return false;
    const i = day - from;
    return ((bits[i >>> 5]! >>> (i & 31)) & 1) === 1;
  };
  return {
    ...option,
    sessions,
    earlyCloses: new Map(Array.from(unusualCloses, ([day, { closes }]) => [day, closes])),
    isSession,
    earlyCloseOn,
    closureOn: (day) => closures.get(day),
    hoursOn: (day) => (isSession(day) ? hoursOn(day) : undefined),
  };
}

export function correctCalendars(calendars: ExchangeCalendars, closures: RecordedClosures): ExchangeCalendars {
  const correctedCalendars = new Map<string, ExchangeCalendar>();
  const get = (code: string): ExchangeCalendar | undefined => {
    const known = correctedCalendars.get(code);
    if (known !== undefined) return known;
    const recordedClosures = Object.hasOwn(closures, code) ? closures[code] : undefined;
    const isComposite = parseCompositeCode(code) !== undefined;
    const calendar = isComposite ? findComposite(code, get) : calendars.get(code);
    if (calendar === undefined || (!isComposite && recordedClosures === undefined)) return calendar;
    const corrected = recordedClosures === undefined ? calendar : correctCalendar(calendar, recordedClosures);
    correctedCalendars.set(code, corrected);
    return corrected;
  };
  return { list: () => calendars.list(), get };
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

/** Calendars of the service with the latest recorded changes. */
export interface LiveCalendars extends ExchangeCalendars {
  /** Calendars without recorded changes. */
  readonly base: ExchangeCalendars;
  /** Replaces the recorded changes. */
  record(closures: RecordedClosures): void;
}

export function createLiveCalendars(base: ExchangeCalendars): LiveCalendars {
  let currentCalendars = base;
  return {
    base,
    list: () => base.list(),
    get: (code) => currentCalendars.get(code),
    record: (closures) => void (currentCalendars = correctCalendars(base, closures)),
  };
}

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
