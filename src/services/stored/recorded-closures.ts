import { ClosuresDocument, RecordedClosures } from '#domain/calendars/closures.js';
import { fileNameOf } from '#domain/calendars/calendars.js';
import type { LiveCalendars } from '#domain/calendars/live-calendars.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { lastVersionOf } from '#store/history/history.js';
import type { DocumentReader, DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';

/** Id of the one document with the changed sessions of all calendars, which is written together with those of each. */
export const ALL_CLOSURES = 'all';

/**
 * Returns the changed sessions of calendars, without their hours, as plans carry them; undefined if there are none.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export async function recordedClosures(reader: Pick<DocumentReader, 'get'>): Promise<RecordedClosures | undefined> {
  const stored = await reader.get('recorded-closures', ALL_CLOSURES);
  if (stored === undefined) return undefined;
  const closures = parseStored(stored, RecordedClosures);
  if (closures !== undefined) return closures;
  throw new Refusal('DOCUMENT_UNREADABLE', 'The recorded changes of calendars cannot be read; record them again.');
}

/** Applies the recorded changes to the calendars of this process. Changes that cannot be read are not applied. */
export async function followClosures(documents: DocumentStore, calendars: LiveCalendars): Promise<void> {
  const { documents: all } = await documents.list('closures', (body, id) => {
    const document = ClosuresDocument.safeParse(body).data;
    return document && { id, changes: document.changes };
  });
  const byId = new Map(calendars.list().map(({ code }) => [fileNameOf(code), code]));
  const recorded: RecordedClosures = {};
  for (const { id, changes } of all) {
    const code = byId.get(id);
    const version = await lastVersionOf(documents, { kind: 'closures', id });
    if (code !== undefined) recorded[code] = { version: Math.max(1, version), changes };
  }
  calendars.record(recorded);
}
