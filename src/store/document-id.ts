import { Buffer } from 'node:buffer';

/** Every engine has room for it in a key: LMDB takes 1,978 bytes. The wire's ids are far shorter. */
const ID_BYTES_MAX = 512;

/** UTF-8 has no half of a surrogate pair: two ids would share a key. */
const HALF_PAIR = /\p{Surrogate}/u;

/** Whether an id can be a key; nothing is ever stored under others. */
export function isDocumentId(id: string): boolean {
  return id !== '' && !id.includes('\u0000') && !HALF_PAIR.test(id) && Buffer.byteLength(id) <= ID_BYTES_MAX;
}
