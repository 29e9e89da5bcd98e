import { allocatePages } from '#kernels/memory/large-pages.js';

const PAGE_BYTES = 2 ** 16;

/**
 * Size from which a stored file is written past the cache of the operating system, and also read past it when it is
 * read as a whole. Smaller files are mostly read as a whole soon after; of larger files, views read parts.
 */
export const LARGE_BYTES_MIN = 4 * 2 ** 20;

const allocators = new WeakSet<ArrayBufferLike>();

/**
 * Allocates zeroed memory that begins on a page, so that a disk can transfer whole sectors directly. WebAssembly memory
 * always begins on a page; other memory may begin anywhere.
 * @returns whole pages of 64 KiB; other memory if the address space of the process is used up, of which each
 * WebAssembly memory takes 10 GB
 */
export function allocatePageMemory(bytes: number): SharedArrayBuffer {
  const pageCount = Math.ceil(bytes / PAGE_BYTES);
  const memory = allocatePages(pageCount);
  if (memory === undefined) return new SharedArrayBuffer(pageCount * PAGE_BYTES);
  const buffer = memory.buffer as SharedArrayBuffer; // has the requested size
  allocators.add(buffer);
  return buffer;
}

/** Returns true for memory that this module allocated. */
export const isPageMemory = (memory: ArrayBufferLike): boolean => allocators.has(memory);
