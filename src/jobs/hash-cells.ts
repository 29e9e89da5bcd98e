import type { HashCells } from './thread-messages.js';

/** Size of a SHA-256 in bytes. */
const DIGEST_BYTES = 32;

/** Creates cells for the hashes of files; no cell has been claimed yet. */
export function createHashCells(files: number): HashCells {
  const sharedBuffer = new SharedArrayBuffer(files * (Int32Array.BYTES_PER_ELEMENT + DIGEST_BYTES));
  const digestsAt = files * Int32Array.BYTES_PER_ELEMENT;
  return {
    states: new Int32Array(sharedBuffer, 0, files),
    digests: new Uint8Array(sharedBuffer, digestsAt, files * DIGEST_BYTES),
  };
}
