import { toDay, type Day } from './days.js';

/** Form of a local time of day, `HH:MM`. */
export const LOCAL_TIME_PATTERN = /^([01]\d|2[0-3]):[0-5]\d$/;

const MS_PER_MINUTE = 60_000;
const MS_PER_DAY = 86_400_000;

/** Returns true for a time zone of the IANA database. */
export function isTimeZone(zone: string): boolean {
  try {
    findClock(zone);
    return true;
  } catch {
    return false;
  }
}

export interface LocalMoment {
  readonly day: Day;
  /** Local time, `HH:MM`. */
  readonly time: string;
  /** Time zone of the IANA database. */
  readonly zone: string;
}

/**
 * Returns the instant of a local time, in ms since 1970. If the time occurs twice because clocks go back, returns the
 * first instant. If clocks skip the time, returns an instant that is later by the length of the gap.
 * @source rule of RFC 5545, section 3.3.5
 */
export function toInstant({ day, time, zone }: LocalMoment): number {
  const [hours, minutes] = time.split(':').map(Number) as [number, number]; // `time` matches LOCAL_TIME_PATTERN
  const localMs = day * MS_PER_DAY + (hours * 60 + minutes) * MS_PER_MINUTE;
  const before = computeOffset(zone, localMs - MS_PER_DAY);
  const after = computeOffset(zone, localMs + MS_PER_DAY);
  const candidates = [localMs - before, localMs - after];
  const validInstants = candidates.filter((instant) => instant + computeOffset(zone, instant) === localMs);
  return validInstants.length > 0 ? Math.min(...validInstants) : localMs - before;
}

/** Returns the current day in a time zone at an instant. */
export function toLocalDay(zone: string, instantMs: number): Day {
  return Math.floor((instantMs + computeOffset(zone, instantMs)) / MS_PER_DAY);
}

/** Returns the local time minus UTC at an instant, in ms. */
function computeOffset(zone: string, instantMs: number): number {
  const instant = Math.floor(instantMs / 1000) * 1000;
  const parts = Object.fromEntries(
    findClock(zone)
      .formatToParts(instant)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year, month, day, hour, minute, second } = parts as Record<string, number>;
  const localMs = toDay({ year: year!, month: month!, day: day! }) * MS_PER_DAY;
  return localMs + ((hour! * 60 + minute!) * 60 + second!) * 1000 - instant;
}

/** Maximum number of cached clocks. A zone can have many spellings, because its name is case-insensitive. */
const CLOCKS_MAX = 1000;

const clocksByZone = new Map<string, Intl.DateTimeFormat>();

function findClock(zone: string): Intl.DateTimeFormat {
  const cachedClock = clocksByZone.get(zone);
  if (cachedClock !== undefined) return cachedClock;
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  if (clocksByZone.size >= CLOCKS_MAX) clocksByZone.clear();
  clocksByZone.set(zone, clock);
  return clock;
}
