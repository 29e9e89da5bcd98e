import type { BodyReader, StoredDocument, UnreadableCause, UnreadableDocument } from './port.js';

/** Result of a read, with only the members that readers of the body need. */
type ParsedDocument = Pick<StoredDocument, 'id' | 'body'> | UnreadableDocument | undefined;

/** Reads the body of a stored document. @returns undefined if the document is missing, unreadable or invalid */
export function readStored<T>(parsedDocument: ParsedDocument, read: BodyReader<T>): T | undefined {
  return parsedDocument === undefined || 'unreadable' in parsedDocument
    ? undefined
    : read(parsedDocument.body, parsedDocument.id);
}

/** Validates the body of a stored document with a schema. @returns undefined as `readStored` does */
export function parseStored<T>(
  parsedDocument: ParsedDocument,
  schema: { safeParse(body: unknown): { readonly data?: T } },
): T | undefined {
  return readStored(parsedDocument, (body) => schema.safeParse(body).data);
}

/** Returns the reason why a stored document is unreadable. Returns undefined for a readable or absent document. */
export function findCause(parsedDocument: ParsedDocument, read: BodyReader<unknown>): UnreadableCause | undefined {
  if (parsedDocument === undefined) return undefined;
  if ('unreadable' in parsedDocument) return parsedDocument.unreadable;
  return read(parsedDocument.body, parsedDocument.id) === undefined ? 'invalid' : undefined;
}
