import { isAbsolute } from 'node:path';
import { hidesPassword, removePassword, type DatasetDocument } from '#domain/documents/dataset-document.js';
import { Refusal } from '#domain/refusals/refusal.js';

/**
 * Returns the locations of a store after its source was changed. If only the password differs, the store is read from
 * the new location, and the old password is no longer stored.
 */
export function updateLocations(
  { location }: DatasetDocument,
  source: string | null,
): Partial<Pick<DatasetDocument, 'location' | 'source'>> {
  const isSameAddress = location !== null && source !== null && formatAddress(location) === formatAddress(source);
  return isSameAddress ? { location: source, source } : { source };
}

/** Returns a connection URL with user and database, but without password. */
const formatAddress = (location: string): string => removePassword(location).replace(/:[^:@/]*@/, '@');

/** Returns true if two locations are equal, ignoring passwords. */
export const isSameLocation = (a: string | null, b: string | null): boolean =>
  a !== null && b !== null && removePassword(a) === removePassword(b);

/**
 * Returns the source in a stored version. @throws Refusal VERSION_NOT_RESTORABLE if the source needs a password;
 * versions contain no passwords
 */
export function resolveSourceLocation<T extends string | null>(source: T, version: number): T {
  if (source === null || !hidesPassword(removePassword(source))) return source;
  const location = removePassword(source);
  const message = `Versions keep no password, and ${location} needs one: declare the source with its password.`;
  throw new Refusal('VERSION_NOT_RESTORABLE', message, { version, source: location });
}

/**
 * Returns a refused location as the `value` of its finding. Returns no value if the location may contain a password.
 */
export function quoteLocation(location: string): { readonly value?: string } {
  if (isAbsolute(location)) return { value: location };
  const url = location.includes('://') && URL.canParse(location) ? new URL(location) : undefined;
  return url === undefined || url.search !== '' || url.hash !== '' || url.pathname.includes('@')
    ? {}
    : { value: removePassword(location) };
}
