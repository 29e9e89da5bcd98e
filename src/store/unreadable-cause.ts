import type { BodyReader, StoredDocument, UnreadableCause, UnreadableDocument } from './port.js';

/** Returns the reason why a stored document is unreadable; undefined for a readable or absent one. */
export function causeOf(
  found: Pick<StoredDocument, 'id' | 'body'> | UnreadableDocument | undefined,
  read: BodyReader<unknown>,
): UnreadableCause | undefined {
  if (found === undefined) return undefined;
  if ('unreadable' in found) return found.unreadable;
  return read(found.body, found.id) === undefined ? 'invalid' : undefined;
}
