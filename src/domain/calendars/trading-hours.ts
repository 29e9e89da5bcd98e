import { parseValidDay, formatDay, toWeekday, type Day } from '../time/days.js';
import type { RuleFile } from './rule-file.js';
import { parseWeekdayMask } from './weekdays.js';

/**
 * Trading hours of an exchange on a day, in its local time. Historical hours are indicative; see the README of the
 * calendars.
 */
export interface TradingHours {
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
export function createHoursLookup(entries: RuleFile['hours']): (day: Day) => TradingHours {
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
export function closeHoursAt(hours: TradingHours, close: string): TradingHours {
  return { ...hours, close, breaks: hours.breaks.filter(([, end]) => end < close) };
}

/**
 * Returns true if a closing time is before the usual close of a session. A close at or before the opening time is on the
 * next day, unless the session opens on the evening before.
 */
export function closesEarlier(close: string, { open, close: usual, openDay }: TradingHours): boolean {
  const isNextDay = (time: string) => openDay === 0 && time <= open;
  return isNextDay(close) === isNextDay(usual) ? close < usual : isNextDay(usual);
}
