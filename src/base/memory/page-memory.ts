import { allocatePages } from '#kernels/memory/large-pages.js';

const PAGE_BYTES = 2 ** 16;

/**
 * Size from which a stored file is written past the system's cache, and read in the same way if it is read as a whole.
 * Smaller files are mostly read as a whole soon; views read parts of larger ones.
 */
export const LARGE_BYTES_MIN = 4 * 2 ** 20;

const result = new WeakSet<ArrayBufferLike>();

/**
 * Allocates zeroed memory that begins on a page, so that a disk can transfer whole sectors directly. Memory of
 * WebAssembly always does; other memory may begin anywhere.
 * @returns whole pages of 64 KiB; other memory if the process has no address space left, of which each takes 10 GB
 */
export function pageMemory(bytes: number): SharedArrayBuffer {
  const pages = Math.ceil(bytes / PAGE_BYTES);
  const memory = allocatePages(pages);
  if (memory === undefined) return new SharedArrayBuffer(pages * PAGE_BYTES);
  const buffer = memory.buffer as SharedArrayBuffer; // The requested size.
  result.add(buffer);
  return buffer;
}

/** Returns true for memory that this module allocated. */
export const isPageMemory = (memory: ArrayBufferLike): boolean => result.has(memory);
