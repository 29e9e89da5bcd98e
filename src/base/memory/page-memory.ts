import { memoryOfPages } from '#kernels/memory/large-pages.js';

const PAGE_BYTES = 2 ** 16;

/**
 * Bytes from which on a stored file is written past the cache of the system, and read so as a whole. Smaller ones are
 * mostly read as a whole soon, as results are; of larger ones views read parts.
 */
export const LARGE_BYTES_MIN = 4 * 2 ** 20;

const result = new WeakSet<ArrayBufferLike>();

/**
 * Zeroed memory that begins on a page, so that a disk takes whole sectors from where they lie: that of WebAssembly does
 * wherever it runs, other memory begins where the system likes.
 * @returns whole pages of 64 KiB; other memory where the process has no addresses left, of which each takes 10 GB
 */
export function pageMemory(bytes: number): SharedArrayBuffer {
  const pages = Math.ceil(bytes / PAGE_BYTES);
  const memory = memoryOfPages(pages);
  if (memory === undefined) return new SharedArrayBuffer(pages * PAGE_BYTES);
  const buffer = memory.buffer as SharedArrayBuffer; // as it was asked for
  result.add(buffer);
  return buffer;
}

/** Returns true for memory that this module allocated. */
export const isPageMemory = (memory: ArrayBufferLike): boolean => result.has(memory);
