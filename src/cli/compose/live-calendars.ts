import type { Logger } from 'pino';
import { createLiveCalendars } from '#domain/calendars/live-calendars.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { followClosures, type FollowingCalendars } from '#services/stored/recorded-closures.js';
import type { DocumentStore } from '#store/port.js';

/** Opens the calendars of the service. They include changes that any process recorded. */
export async function openLiveCalendars(documents: DocumentStore, log: Logger): Promise<FollowingCalendars> {
  const calendars = followClosures(documents, createLiveCalendars(openCalendars()), (err) =>
    log.error({ err }, 'the recorded changes of calendars could not be read'),
  );
  await calendars.follow();
  return calendars;
}
