import type { Calendar, CalendarOption, Calendars } from './calendar.js';
import type { Day } from '../time/days.js';
import { createCoverage, expandCalendar, type Expansion } from './expand.js';
import { DateTables, FamilyFile, RuleFile, type CalendarIndex, type IndexEntry } from './rule-file.js';
import type { TradingHours } from './trading-hours.js';

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
    const file = RuleFile.parse(read(createFileName(rules)));
    const families = file.extends.map((name) => FamilyFile.parse(read(`families/${name}`)));
    const expansion = expandCalendar({ file, families, feasts: tables });
    expansions.set(rules, expansion);
    return expansion;
  };

  return {
    list: () => options,
    get(code) {
      const exchangeCalendar = calendars.get(code);
      if (exchangeCalendar !== undefined) return exchangeCalendar;
      const entry = entries.get(code);
      if (entry === undefined) return undefined;
      const calendar = createCalendar(createOption(entry), findExpansion(entry.rules));
      calendars.set(code, calendar);
      return calendar;
    },
  };
}

/** Returns the file name of a code, in which a slash is replaced. */
export function createFileName(code: string): string {
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
