import { compareText } from '../base/findings.js';
import { findLastAtMost } from '../base/numbers.js';
import { type Day, formatDay, parseValidDay, toCivilDate, toWeekday } from '../base/time.js';
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
import {
  type AliasFile,
  type CalendarIndex,
  type ClosureRule,
  type DatedRule,
  DateTables,
  FamilyFile,
  type FeastDays,
  type Holiday,
  type IndexEntry,
  listDates,
  listObservedDays,
  parseDateRule,
  parseObservance,
  parseWeekdayMask,
  RuleFile,
  type ShortSession,
} from './date-rules.js';

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

export interface ExpansionSources {
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

export interface CalendarSources {
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
