import type { Calendars } from '#domain/calendars/calendar.js';
import { openCalendars } from '#market/serving/calendar-files.js';

let calendars: Calendars | undefined;

/** Returns the calendars of the service, opened once per thread. */
export function openedCalendars(): Calendars {
  return (calendars ??= openCalendars());
}
