import { isAbsolute } from 'node:path';
import { hidesPassword, withoutPassword, type DatasetDocument } from '#domain/documents/dataset-document.js';
import { Refusal } from '#domain/refusals/refusal.js';

/**
 * Places of a store with another source. One that differs in its password alone is where the store is read from, too: the
 * earlier password is kept nowhere.
 */
export function placesAfter(
  { location }: DatasetDocument,
  source: string | null,
): Partial<Pick<DatasetDocument, 'location' | 'source'>> {
  const isSame = location !== null && source !== null && addressOf(location) === addressOf(source);
  return isSame ? { location: source, source } : { source };
}

/** A connection URL with user and database, and no password. */
const addressOf = (location: string): string => withoutPassword(location).replace(/:[^:@/]*@/, '@');

/** Tests that two locations are the same, ignoring passwords. */
export const isSamePlace = (a: string | null, b: string | null): boolean =>
  a !== null && b !== null && withoutPassword(a) === withoutPassword(b);

/** The source that a version declares. @throws Refusal VERSION_NOT_RESTORABLE where it needs a password, which no version has */
export function openPlace<T extends string | null>(source: T, version: number): T {
  if (source === null || !hidesPassword(withoutPassword(source))) return source;
  const place = withoutPassword(source);
  const message = `Versions keep no password, and ${place} needs one: declare the source with its password.`;
  throw new Refusal('VERSION_NOT_RESTORABLE', message, { version, source: place });
}

/** A refused place as its finding repeats it: not at all where nobody can say which part of it is a password. */
export function repeat(location: string): { readonly value?: string } {
  if (isAbsolute(location)) return { value: location };
  const url = location.includes('://') && URL.canParse(location) ? new URL(location) : undefined;
  return url === undefined || url.search !== '' || url.hash !== '' || url.pathname.includes('@')
    ? {}
    : { value: withoutPassword(location) };
}
