import type { Logger } from 'pino';
import { createLiveCalendars, type LiveCalendars } from '#domain/calendars/live-calendars.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { followClosures } from '#services/stored/recorded-closures.js';
import type { DocumentStore } from '#store/port.js';

/** Opens the calendars of the service, with the recorded changes of any process. */
export async function openLiveCalendars(documents: DocumentStore, log: Logger): Promise<LiveCalendars> {
  const calendars = createLiveCalendars(openCalendars());
  documents.subscribe('closures-recorded', () => {
    const logFailure = (err: unknown) => log.error({ err }, 'the recorded changes of calendars could not be read');
    followClosures(documents, calendars).catch(logFailure);
  });
  await followClosures(documents, calendars);
  return calendars;
}
