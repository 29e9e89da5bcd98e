import type { Calendars } from '#domain/calendars/calendar.js';
import { openCalendars } from '#market/serving/calendar-files.js';

let calendars: Calendars | undefined;

/** The calendars of the service, opened once in this thread. */
export function openedCalendars(): Calendars {
  return (calendars ??= openCalendars());
}
