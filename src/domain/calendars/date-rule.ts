import { toCivilDate, parseValidDay, toDay, countDaysInMonth, toWeekday, type Day } from '../time/days.js';
import { computeEasterSunday, computeOrthodoxEasterSunday } from './easter.js';
import type { DatesByYear } from './rule-file.js';
import { parseWeekday } from './weekdays.js';

/** Function that returns the days of a rule in a year; empty if the rule has no day in that year. */
export type DateRule = (year: number) => readonly Day[];

/** Feast days by table name and year. */
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
export function parseDateRule(text: string, feasts: FeastDays): DateRule {
  const baseRule = parseBase(text, feasts);
  if (baseRule !== undefined) return baseRule;
  const shift = /[+-]\d{1,2}$/.exec(text)?.[0];
  const unshiftedRule = shift === undefined ? undefined : parseBase(text.slice(0, -shift.length), feasts);
  if (unshiftedRule === undefined) throw new Error(`not a date rule: ${text}`);
  const days = Number(shift);
  return (year) => unshiftedRule(year).map((day) => day + days);
}

function parseBase(base: string, feasts: FeastDays): DateRule | undefined {
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

function createNthWeekdayRule(weekday: number, which: string, month: number): DateRule {
  if (which === 'last')
    return (year) => [findWeekdayOnOrBefore(toDay({ year, month, day: countDaysInMonth(year, month) }), weekday)];
  const weeks = Number(which) - 1;
  return (year) => {
    const day = findWeekdayOnOrAfter(toDay({ year, month, day: 1 }), weekday) + 7 * weeks;
    return toCivilDate(day).month === month ? [day] : [];
  };
}

function createNearWeekdayRule(weekday: number, isAfter: boolean, month: number, dayOfMonth: number): DateRule {
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
