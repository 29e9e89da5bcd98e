import { dayFrom, formatDay, weekdayOf, type Day } from '../time/days.js';
import type { RuleFile } from './rule-file.js';
import { weekdayMask } from './weekdays.js';

/** When an exchange trades on a day, in its local time. Historic hours are indicative; see the calendars' README. */
export interface TradingHours {
  /** `HH:MM`. */
  readonly open: string;
  /** `HH:MM`; not after `open` when the session ends on the next day. */
  readonly close: string;
  /** Pauses between the two. */
  readonly breaks: readonly (readonly [string, string])[];
  /** -1 when the session opens on the evening before its date. */
  readonly openDay: -1 | 0;
}

/** The usual hours of a calendar by day: the last entry that applies rules. */
export function usualHours(entries: RuleFile['hours']): (day: Day) => TradingHours {
  const dated = entries.map((entry) => ({
    hours: { open: entry.open, close: entry.close, breaks: entry.breaks, openDay: entry.openDay },
    from: entry.from === undefined ? -Infinity : dayFrom(entry.from),
    mask: entry.days === undefined ? 0b1111111 : weekdayMask(entry.days),
    season: entry.season?.split('..'),
  }));
  return (day) => {
    const monthDay = formatDay(day).slice(5);
    const entry = dated.findLast(
      ({ from, mask, season }) =>
        from <= day &&
        ((mask >>> weekdayOf(day)) & 1) === 1 &&
        (season === undefined || (season[0]! <= monthDay && monthDay <= season[1]!)),
    );
    if (entry === undefined) throw new Error(`the calendar has no hours on ${formatDay(day)}`);
    return entry.hours;
  };
}

/** The hours of a session that closes at another time than usual; a break that it would cut is not held. */
export function closingAt(hours: TradingHours, close: string): TradingHours {
  return { ...hours, close, breaks: hours.breaks.filter(([, end]) => end < close) };
}
