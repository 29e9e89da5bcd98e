import { Buffer } from 'node:buffer';

/**
 * Maximum length of an id in bytes. With it, every id fits into a key of every engine; LMDB allows 1,978 bytes. Ids in
 * requests are far shorter.
 */
const ID_BYTES_MAX = 512;

/**
 * Matches an unpaired surrogate, which UTF-8 cannot encode. Two ids with different unpaired surrogates would share a
 * key.
 */
const HALF_PAIR = /\p{Surrogate}/u;

/** Returns true if an id can be a key. No document has any other id. */
export function isDocumentId(id: string): boolean {
  return id !== '' && !id.includes('\u0000') && !HALF_PAIR.test(id) && Buffer.byteLength(id) <= ID_BYTES_MAX;
}

/** Number of digits in a key. Leading zeros make keys sort like their numbers. */
const DIGITS = 10;

/** Returns the key of a numbered version, or part of a log, of one owner. */
export const formatNumberedId = (owner: string, number: number): string =>
  `${owner}/${String(number).padStart(DIGITS, '0')}`;

/** Returns the number in a key of `formatNumberedId`. */
export const parseNumber = (id: string): number => Number(id.slice(id.lastIndexOf('/') + 1));

/** Returns the range of the keys of `formatNumberedId` of one owner. */
export const createNumberedRange = (owner: string): { readonly from: string; readonly until: string } => ({
  from: `${owner}/`,
  until: `${owner}/:`, // colon is the character after 9
});

/** Returns the owner in a key of `formatNumberedId`. */
export const getOwner = (id: string): string => id.slice(0, id.lastIndexOf('/'));
