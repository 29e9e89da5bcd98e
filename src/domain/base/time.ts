/** Calendar day as the number of days since 1970-01-01, the only form of dates in the domain. */
export type Day = number;

const TEXT = /^\d{4}-\d{2}-\d{2}$/;
const MS_PER_DAY = 86_400_000;

/** Parses `YYYY-MM-DD`. Returns undefined if the text is not a valid date. */
export function parseDay(text: string): Day | undefined {
  if (!TEXT.test(text)) return undefined;
  const day = toDay({
    year: Number(text.slice(0, 4)),
    month: Number(text.slice(5, 7)),
    day: Number(text.slice(8, 10)),
  });
  return formatDay(day) === text ? day : undefined;
}

/** Parses a text that is known to be a valid date. Any other text is a defect of the caller. */
export function parseValidDay(text: string): Day {
  const day = parseDay(text);
  if (day === undefined) throw new Error(`not a date: ${text}`);
  return day;
}

export function formatDay(day: Day): string {
  const { year, month, day: dayOfMonth } = toCivilDate(day);
  if (!(year >= 1000 && year <= 9999)) return new Date(day * MS_PER_DAY).toISOString().slice(0, 10);
  return `${year}${MINUS_TWO_DIGITS[month]!}${MINUS_TWO_DIGITS[dayOfMonth]!}`;
}

/** Minus sign and two-digit number, up to 31. */
const MINUS_TWO_DIGITS = Array.from({ length: 32 }, (_, number) => `-${String(number).padStart(2, '0')}`);

/** Formats a market date as a full ISO-8601 timestamp: midnight in UTC with an offset. */
export function formatDayTimestamp(day: Day): string {
  return `${formatDay(day)}T00:00:00+00:00`;
}

export interface CivilDate {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly day: number;
}

/** Returns the day of a civil date. A day beyond the end of its month is in the next month. */
export function toDay({ year, month, day }: CivilDate): Day {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return (
    era * DAYS_PER_ERA +
    yearOfEra * 365 +
    Math.floor(yearOfEra / 4) -
    Math.floor(yearOfEra / 100) +
    dayOfYear -
    DAYS_BEFORE_1970
  );
}

/**
 * Returns the civil date of a day in the proleptic Gregorian calendar.
 * @source Hinnant, chrono-compatible low-level date algorithms: years begin in March, so the leap day is their last
 * day.
 */
export function toCivilDate(day: Day): CivilDate {
  const shiftedDay = Math.floor(day) + DAYS_BEFORE_1970;
  const era = Math.floor(shiftedDay / DAYS_PER_ERA);
  const dayOfEra = shiftedDay - era * DAYS_PER_ERA;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return {
    year: era * 400 + yearOfEra + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
  };
}

/** Number of days in 400 years, after which the calendar repeats. */
const DAYS_PER_ERA = 146_097;
/** Number of days from 1 March of the year 0 to 1970-01-01. */
const DAYS_BEFORE_1970 = 719_468;

/** Returns the consecutive number of the month of a day, for comparisons. */
export function toMonthNumber(day: Day): number {
  const { year, month } = toCivilDate(day);
  return 12 * year + month;
}

/** Position of Saturday among the weekdays. */
export const SATURDAY = 5;

/** Returns the weekday of a day, 0 for Monday to 6 for Sunday. */
export function toWeekday(day: Day): number {
  return (((day + 3) % 7) + 7) % 7;
}

export function countDaysInMonth(year: number, month: number): number {
  return (
    toDay(month === 12 ? { year: year + 1, month: 1, day: 1 } : { year, month: month + 1, day: 1 }) -
    toDay({ year, month, day: 1 })
  );
}

/** Returns the day `months` later, limited to the end of its month. */
export function addMonths(day: Day, months: number): Day {
  const { year, month, day: dayOfMonth } = toCivilDate(day);
  const count = year * 12 + (month - 1) + months;
  const toYear = Math.floor(count / 12);
  const toMonth = (count % 12) + 1;
  return toDay({ year: toYear, month: toMonth, day: Math.min(dayOfMonth, countDaysInMonth(toYear, toMonth)) });
}

/** Form of a local time of day, `HH:MM`. */
export const LOCAL_TIME_PATTERN = /^([01]\d|2[0-3]):[0-5]\d$/;

const MS_PER_MINUTE = 60_000;

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

/** Form of a date, or of a time with or without a zone (default: UTC). */
export const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

const DATE_LENGTH = 10;

/**
 * Returns the instant of a text in ms since 1970. For a date, this is the end of the day. NaN if the time does not
 * exist.
 */
export function parseMoment(text: string): number {
  if (text.length === DATE_LENGTH) return Date.parse(`${text}T23:59:59.999Z`);
  return Date.parse(/Z|[+-]\d{2}:\d{2}$/.test(text) ? text : `${text}Z`);
}

/**
 * Returns the instant of a text in ms since 1970. For a date, this is the beginning of the day. NaN if the time does
 * not exist.
 */
export function parsePeriodStart(text: string): number {
  return text.length === DATE_LENGTH ? Date.parse(text) : parseMoment(text);
}

/** Returns true if a text of this form is a time that exists, unlike 30 February. */
export function isMoment(text: string): boolean {
  return parseDay(text.slice(0, DATE_LENGTH)) !== undefined && Number.isFinite(parseMoment(text));
}
