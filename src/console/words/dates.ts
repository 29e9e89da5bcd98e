/**
 * Formats of dates and times. Dates are written as in the API (YYYY-MM-DD); times have hours, minutes and zone, in the
 * time zone of the browser.
 */

import { countValues } from './numbers.js';

const MS_PER_DAY = 86_400_000;

/**
 * Formats a timestamp as local date and time with the zone, for example `2024-03-15 16:30 +01:00` or `2024-03-15 15:30
 * UTC`.
 * @param hasSeconds true if the time has seconds: `15:30:07 UTC`
 */
export function formatMoment(timestamp: string | null, hasSeconds = false): string {
  if (timestamp === null) return '–';
  const time = new Date(timestamp);
  const date = `${time.getFullYear()}-${padTwo(time.getMonth() + 1)}-${padTwo(time.getDate())}`;
  const clock = formatClock(timestamp);
  return `${date} ${hasSeconds ? clock : clock.slice(0, 5)} ${formatZone(-time.getTimezoneOffset())}`;
}

/** Returns a timestamp as a figure. The date is its value, and the time is its note. */
export function createMomentFigure(timestamp: string): { readonly value: string; readonly note: string } {
  const [value = '', ...time] = formatMoment(timestamp).split(' ');
  return { value, note: time.join(' ') };
}

/** Formats the local time of a timestamp, for example `16:30:05`. */
export function formatClock(timestamp: string): string {
  const time = new Date(timestamp);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map(padTwo).join(':');
}

const padTwo = (value: number): string => String(value).padStart(2, '0');

/**
 * Formats a time zone offset.
 * @param minutes minutes east of Greenwich
 */
export function formatZone(minutes: number): string {
  if (minutes === 0) return 'UTC';
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '\u2212' : '+'}${padTwo(Math.floor(size / 60))}:${padTwo(size % 60)}`;
}

/** Formats a duration, for example `0.4 s`, `12 s`, `3 min 20 s` or `2 h 5 min`. */
export function formatDuration(seconds: number): string {
  if (seconds < 0.1) return `${Math.max(0, Math.round(1000 * seconds))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** Returns the seconds between two timestamps. Default for the second timestamp: now. */
export const computeSecondsBetween = (from: string, to: string | null): number =>
  ((to === null ? Date.now() : Date.parse(to)) - Date.parse(from)) / 1000;

/** Returns true if a text is a valid date, written YYYY-MM-DD. */
export const isDate = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;

/** Returns the days from 1970-01-01 to a date YYYY-MM-DD. */
export const parseDayNumber = (date: string): number => Date.parse(date.slice(0, 10)) / MS_PER_DAY;

/** Returns the current UTC date, which the service also uses. */
export const formatToday = (): string => new Date().toISOString().slice(0, 10);

/** Returns the days from today to a date, negative for a past date. */
export const countDaysUntil = (date: string, today = formatToday()): number =>
  parseDayNumber(date) - parseDayNumber(today);

/** Formats the days from today to a date, for example `today`, `in 1 day` or `22 days ago`. */
export function formatDaysTo(date: string, today = formatToday()): string {
  const days = countDaysUntil(date, today);
  if (days === 0) return 'today';
  return days > 0 ? `in ${countValues(days, 'day')}` : `${countValues(-days, 'day')} ago`;
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;

/** Returns the weekday of a date YYYY-MM-DD as three letters. */
export const formatWeekday = (date: string): string => WEEKDAYS[new Date(date).getUTCDay()] ?? '';

export const subtractDays = (date: string, days: number): string =>
  new Date(Date.parse(date) - days * MS_PER_DAY).toISOString().slice(0, 10);

/** Returns the date that is a number of months earlier. If the month is too short, it is the last day of the month. */
export function subtractMonths(date: string, months: number): string {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  const first = new Date(Date.UTC(year, month - 1 - months, 1));
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  first.setUTCDate(Math.min(day, last));
  return first.toISOString().slice(0, 10);
}
