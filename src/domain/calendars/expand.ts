import { toCivilDate, parseValidDay, toWeekday, type Day } from '../time/days.js';
import type { CalendarCoverage, EarlyClose } from './calendar.js';
import { listDates, parseDateRule, type FeastDays } from './date-rule.js';
import { listObservedDays, parseObservance, type Holiday } from './observance.js';
import type { ClosureRule, DatedRule, FamilyFile, RuleFile, ShortSession } from './rule-file.js';
import { closeHoursAt, closesEarlier, createHoursLookup, type TradingHours } from './trading-hours.js';
import { parseWeekdayMask } from './weekdays.js';

/** Days of a calendar, computed over its whole coverage. */
export interface Expansion {
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
  /** Returns the trading hours of a session. */
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
export function expandCalendar({ file, families, feasts }: ExpansionSources): Expansion {
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

export function createCoverage({ from, publishedTo, to }: RuleFile['coverage']): CalendarCoverage {
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
