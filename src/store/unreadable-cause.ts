import type { BodyReader, StoredDocument, UnreadableCause, UnreadableDocument } from './port.js';

/** Why a stored document cannot be read; undefined of one that can, and where there is none. */
export function causeOf(
  found: Pick<StoredDocument, 'id' | 'body'> | UnreadableDocument | undefined,
  read: BodyReader<unknown>,
): UnreadableCause | undefined {
  if (found === undefined) return undefined;
  if ('unreadable' in found) return found.unreadable;
  return read(found.body, found.id) === undefined ? 'invalid' : undefined;
}
