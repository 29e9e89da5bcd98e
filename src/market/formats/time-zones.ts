import { toDay, type Day } from '#domain/time/days.js';
import { isTimeZone } from '#domain/time/local-time.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Maximum number of timestamps per time zone with a cached day. A history has few distinct timestamps. */
const CACHED_TIMES_MAX = 100_000;

const OFFSET_TEXT = /^([+-])(\d\d):?(\d\d)$/;

/** Returns the minutes by which a zone written as `+01:00` is ahead of UTC; undefined for a named zone. */
export function parseOffsetMinutes(zone: string): number | undefined {
  const [, sign, hours, minutes] = OFFSET_TEXT.exec(zone) ?? [];
  return sign === undefined ? undefined : (sign === '-' ? -1 : 1) * (60 * Number(hours) + Number(minutes));
}

/** Returns true if a zone is UTC. Files state it for instants of every exchange, so it states no local day. */
export const isUtc = (zone: string): boolean => /^(utc|gmt|etc\/(utc|gmt)|z|[+-]00:?00)$/i.test(zone);

/** Checks that a time zone exists. @throws Error for an unknown time zone */
export function assertTimeZone(zone: string, column: string): void {
  if (parseOffsetMinutes(zone) !== undefined || isTimeZone(zone)) return;
  throw new Error(`The time zone ${zone.slice(0, 40)} of the column ${column.slice(0, 80)} is not known`);
}

/**
 * Returns a function that converts timestamps in milliseconds since 1970 to local days of a time zone.
 * @throws Error for an unknown time zone
 */
export function createDayReader(zone: string): (ms: number) => Day {
  const minutes = zone === 'UTC' ? 0 : parseOffsetMinutes(zone);
  if (minutes !== undefined) return (ms) => Math.floor((ms + minutes * MINUTE_MS) / DAY_MS);
  const clock = new Intl.DateTimeFormat('en', { timeZone: zone, year: 'numeric', month: 'numeric', day: 'numeric' });
  const daysByMs = new Map<number, Day>();
  return (ms) => {
    let day = daysByMs.get(ms);
    if (day === undefined) {
      const parts = Object.fromEntries(clock.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
      day = toDay({ year: parts['year']!, month: parts['month']!, day: parts['day']! });
      if (daysByMs.size >= CACHED_TIMES_MAX) daysByMs.clear();
      daysByMs.set(ms, day);
    }
    return day;
  };
}
