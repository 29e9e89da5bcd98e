// Replaces `src/market/serve/calendar-files.ts`, which reads files, in the bundle.
import { CalendarIndex, createCalendars, type ExchangeCalendars } from '#domain/calendars/exchange-calendars.js';

/** JSON of the files of the calendar folder by file name, inserted by the build. */
declare const EMBEDDED_CALENDARS: string;

export function openCalendars(): ExchangeCalendars {
  const files = JSON.parse(EMBEDDED_CALENDARS) as Readonly<Record<string, unknown>>; // the build wrote the JSON
  return createCalendars({ index: CalendarIndex.parse(files['index']), read: (name) => files[name] });
}
