import type { MadeBytes } from './port.js';

/** Bytes that are made in parts, as a whole. @param memory for them, in place of new one */
export function wholeOf(
  made: MadeBytes,
  memory: ArrayBufferLike = new ArrayBuffer(made.length),
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(memory as ArrayBuffer, 0, made.length); // What writes and reads files takes shared memory too.
  let at = 0;
  for (const part of made.parts()) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
