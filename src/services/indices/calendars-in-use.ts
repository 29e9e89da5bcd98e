import type { DocumentStore } from '#store/port.js';
import type { UsedCalendars } from '#domain/calendars/used-calendars.js';
import { readIndex } from '#domain/checks/validate-index.js';
import { readRecordedClosures } from '../stored/recorded-closures.js';

/**
 * Returns the calendars of all stored indices, ordered by code, with their recorded changes. Changes that are
 * unreadable are left out. @cost reads every stored index
 */
export async function readCalendarsInUse(documents: Pick<DocumentStore, 'list' | 'get'>): Promise<UsedCalendars> {
  const { documents: codes } = await documents.list('index', (body) => readIndex(body)?.calendar);
  const closures = await readRecordedClosures(documents).catch(() => undefined);
  return { codes: [...new Set(codes)].toSorted(), ...(closures && { closures }) };
}
