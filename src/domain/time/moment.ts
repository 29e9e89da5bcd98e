import { parseDay } from './days.js';

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
