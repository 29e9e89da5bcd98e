import { ClosuresDocument, RecordedClosures } from '#domain/calendars/closures.js';
import { createFileName } from '#domain/calendars/calendars.js';
import type { LiveCalendars } from '#domain/calendars/live-calendars.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { readLastVersion } from '#store/history/history.js';
import type { DocumentReader, DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';

/**
 * Id of the document with the changed sessions of all calendars. It is written together with the document of each
 * calendar.
 */
export const ALL_CLOSURES = 'all';

/**
 * Returns the changed sessions of all calendars without their hours, in the format of plans. Returns undefined if no
 * changes are recorded.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export async function readRecordedClosures(reader: Pick<DocumentReader, 'get'>): Promise<RecordedClosures | undefined> {
  const storedDocument = await reader.get('recorded-closures', ALL_CLOSURES);
  if (storedDocument === undefined) return undefined;
  const closures = parseStored(storedDocument, RecordedClosures);
  if (closures !== undefined) return closures;
  throw new Refusal('DOCUMENT_UNREADABLE', 'The recorded changes of calendars cannot be read; record them again.');
}

/** Calendars of this process. They include the changes that any process records. */
export interface FollowingCalendars extends LiveCalendars {
  /**
   * Applies the changes that are recorded now. Reads are made one after another, so the result of the last read is the
   * newest.
   */
  follow(): Promise<void>;
  /**
   * Adds a listener that is called after changes were applied to the calendars.
   * @returns a function that removes the listener
   */
  onFollowed(listener: (code: string) => void): () => void;
}

/**
 * Applies recorded changes to calendars whenever they change. @param onFailure called when the changes of an event are
 * unreadable
 */
export function followClosures(
  documents: DocumentStore,
  calendars: LiveCalendars,
  onFailure: (cause: unknown) => void,
): FollowingCalendars {
  const listeners = new Set<(code: string) => void>();
  let last: Promise<void> = Promise.resolve();
  const followClosure = (): Promise<void> => {
    const read = () => applyRecordedClosures(documents, calendars);
    last = last.then(read, read);
    return last;
  };
  documents.subscribe('closures-recorded', ({ calendar: code }) => {
    followClosure().then(() => listeners.forEach((listener) => listener(code)), onFailure);
  });
  return {
    ...calendars,
    follow: followClosure,
    onFollowed(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Applies the recorded changes; unreadable changes are not applied. */
async function applyRecordedClosures(documents: DocumentStore, calendars: LiveCalendars): Promise<void> {
  const { documents: closures } = await documents.list('closures', (body, id) => {
    const document = ClosuresDocument.safeParse(body).data;
    return document && { id, changes: document.changes };
  });
  const byId = new Map(calendars.list().map(({ code }) => [createFileName(code), code]));
  const recordedClosures: RecordedClosures = {};
  for (const { id, changes } of closures) {
    const code = byId.get(id);
    const version = await readLastVersion(documents, { kind: 'closures', id });
    if (code !== undefined) recordedClosures[code] = { version: Math.max(1, version), changes };
  }
  calendars.record(recordedClosures);
}
