import type { BodyReader, StoredDocument, UnreadableCause, UnreadableDocument } from './port.js';

/** Result of a read, with only the members that readers of the body need. */
type ParsedDocument = Pick<StoredDocument, 'id' | 'body'> | UnreadableDocument | undefined;

/** Reads the body of a stored document. @returns undefined if the document is missing, unreadable or invalid */
export function readStored<T>(found: ParsedDocument, read: BodyReader<T>): T | undefined {
  return found === undefined || 'unreadable' in found ? undefined : read(found.body, found.id);
}

/** Validates the body of a stored document with a schema. @returns undefined as `readStored` does */
export function parseStored<T>(
  found: ParsedDocument,
  schema: { safeParse(body: unknown): { readonly data?: T } },
): T | undefined {
  return readStored(found, (body) => schema.safeParse(body).data);
}

/** Returns the reason why a stored document is unreadable; undefined for a readable or absent one. */
export function findCause(found: ParsedDocument, read: BodyReader<unknown>): UnreadableCause | undefined {
  if (found === undefined) return undefined;
  if ('unreadable' in found) return found.unreadable;
  return read(found.body, found.id) === undefined ? 'invalid' : undefined;
}
