import { parseDay } from './days.js';

/** A date, or a time with or without its zone (UTC). */
export const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

const DATE_LENGTH = 10;

/** A moment in ms since 1970; of a date its end. NaN where there is no such time. */
export function momentOf(text: string): number {
  if (text.length === DATE_LENGTH) return Date.parse(`${text}T23:59:59.999Z`);
  return Date.parse(/Z|[+-]\d{2}:\d{2}$/.test(text) ? text : `${text}Z`);
}

/** The same, but of a date its beginning. */
export function beginningOf(text: string): number {
  return text.length === DATE_LENGTH ? Date.parse(text) : momentOf(text);
}

/** Whether a text of the form is a time that there is: no 30th of February. */
export function isMoment(text: string): boolean {
  return parseDay(text.slice(0, DATE_LENGTH)) !== undefined && Number.isFinite(momentOf(text));
}
