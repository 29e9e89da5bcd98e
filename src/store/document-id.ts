import { Buffer } from 'node:buffer';

/** Every engine has room for it in a key: LMDB takes 1,978 bytes. The wire's ids are far shorter. */
const ID_BYTES_MAX = 512;

/** UTF-8 has no half of a surrogate pair: two ids would share a key. */
const HALF_PAIR = /\p{Surrogate}/u;

/** Whether an id can be a key; nothing is ever stored under others. */
export function isDocumentId(id: string): boolean {
  return id !== '' && !id.includes('\u0000') && !HALF_PAIR.test(id) && Buffer.byteLength(id) <= ID_BYTES_MAX;
}

/** Digits of a number in a key: keys of what is counted are in the order of their numbers. */
const DIGITS = 10;

/** Key of a version, or of a part of a log, beside the others of one owner. */
export const numberedId = (owner: string, number: number): string => `${owner}/${String(number).padStart(DIGITS, '0')}`;

/** The number of a `numberedId`. */
export const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf('/') + 1));

/** What every `numberedId` of an owner begins with, and what comes behind all of them. */
export const numberedRange = (owner: string): { readonly from: string; readonly until: string } => ({
  from: `${owner}/`,
  until: `${owner}/:`, // The character behind 9.
});

/** The owner that a `numberedId` is of. */
export const ownerOf = (id: string): string => id.slice(0, id.lastIndexOf('/'));
