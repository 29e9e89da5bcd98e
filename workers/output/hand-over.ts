import { createHash } from 'node:crypto';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { HashedBytes, ResponseBytes } from '#jobs/tasks/messages.js';

/**
 * Copies response bytes to a separate buffer that can leave the thread. Also computes their hash.
 * @cost one pass of SHA-256
 */
export function copyWithHash(content: string | Uint8Array): HashedBytes {
  const { bytes } = answerBytes(content);
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Copies response bytes to a separate buffer that can leave the thread. */
export function answerBytes(content: string | Uint8Array): ResponseBytes {
  return { bytes: typeof content === 'string' ? new TextEncoder().encode(content) : copyBytes(content) };
}

/**
 * Marks the outcome of a task, so that the buffers of its ResponseBytes move to the main thread without a copy. Piscina
 * reads the mark only from the result itself. A `move()` nested inside the result would become `{}` without an error,
 * so the entry point marks the complete outcome.
 */
export function transferFile<T extends object>(outcome: T): T {
  const buffers = new Set<ArrayBuffer>();
  collectBuffers(outcome, DEPTH_MAX, buffers);
  // Piscina accepts any object with these two members, but its types permit only buffers.
  return move({ [transferableSymbol]: [...buffers], [valueSymbol]: outcome } as never) as unknown as T;
}

/**
 * Maximum depth at which bytes are searched. The levels are outcome, output, a list or record in the output, and its
 * bytes.
 */
const DEPTH_MAX = 4;
/** Length above which a list is not searched. Such a list contains numbers or rows and no bytes to move. */
const LIST_LENGTH_MAX = 256;

function collectBuffers(value: unknown, depth: number, buffers: Set<ArrayBuffer>): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (hasBytes(value)) {
    buffers.add(value.bytes.buffer);
  } else if (depth > 0 && !(Array.isArray(value) && value.length > LIST_LENGTH_MAX)) {
    for (const member of Object.values(value)) collectBuffers(member, depth - 1, buffers);
  }
}

function hasBytes(value: object): value is ResponseBytes {
  return 'bytes' in value && value.bytes instanceof Uint8Array && value.bytes.buffer instanceof ArrayBuffer;
}

/**
 * Returns the bytes in a separate buffer. A view that begins at the start of a buffer and covers at least half of it is
 * not copied. Other content, such as a small part of a buffer or WebAssembly memory, is copied.
 */
function copyBytes(content: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = content;
  const hasOwnBuffer = buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength * 2 >= buffer.byteLength;
  return hasOwnBuffer ? new Uint8Array(buffer, 0, byteLength) : new Uint8Array(content);
}
