import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CalendarIndex, createCalendars, type ExchangeCalendars } from '#domain/calendars/exchange-calendars.js';

/** Folder of the calendars supplied with the service. */
export const CALENDAR_FOLDER = fileURLToPath(new URL('../../../../data/calendars', import.meta.url));

/**
 * Opens the calendars of a folder of rule files. Reads only the index now; the file of a calendar is read at its first
 * use.
 * @throws if the folder has no valid index
 */
export function openCalendars(folder: string = CALENDAR_FOLDER): ExchangeCalendars {
  return createCalendars({
    index: CalendarIndex.parse(readCalendarFile(folder, 'index')),
    read: (name) => readCalendarFile(folder, name),
  });
}

export function readCalendarFile(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
}
