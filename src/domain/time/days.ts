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
