/** A calendar day as the count of days since 1970-01-01. The domain has no other notion of a date. */
export type Day = number;

const TEXT = /^\d{4}-\d{2}-\d{2}$/;
const MS_PER_DAY = 86_400_000;

/** The day of `YYYY-MM-DD`, or undefined when the text is not such a date or names a day that does not exist. */
export function parseDay(text: string): Day | undefined {
  if (!TEXT.test(text)) return undefined;
  const day = dayOf({ year: Number(text.slice(0, 4)), month: Number(text.slice(5, 7)), day: Number(text.slice(8, 10)) });
  return formatDay(day) === text ? day : undefined;
}

/** The day of a text already known to be a date. A text that is not is a defect of the caller. */
export function dayFrom(text: string): Day {
  const day = parseDay(text);
  if (day === undefined) throw new Error(`not a date: ${text}`);
  return day;
}

export function formatDay(day: Day): string {
  return new Date(day * MS_PER_DAY).toISOString().slice(0, 10);
}

/** The full ISO-8601 timestamp of a market date: midnight UTC with an offset. */
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

export function dayOf({ year, month, day }: CivilDate): Day {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return Math.round(date.getTime() / MS_PER_DAY);
}

export function civilOf(day: Day): CivilDate {
  const date = new Date(day * MS_PER_DAY);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** 0 Monday to 6 Sunday. */
export function weekdayOf(day: Day): number {
  return (((day + 3) % 7) + 7) % 7;
}

export function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** The day `months` later, clipped to the end of its month. */
export function addMonths(day: Day, months: number): Day {
  const { year, month, day: dayOfMonth } = civilOf(day);
  const count = year * 12 + (month - 1) + months;
  const toYear = Math.floor(count / 12);
  const toMonth = (count % 12) + 1;
  return dayOf({ year: toYear, month: toMonth, day: Math.min(dayOfMonth, daysInMonth(toYear, toMonth)) });
}
