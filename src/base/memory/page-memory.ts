import { allocatePages } from '#kernels/memory/large-pages.js';

const PAGE_BYTES = 2 ** 16;

/**
 * Minimum size of a file that bypasses the cache of the operating system. Files of at least this size are written past
 * the cache, and read past it when the whole file is read. Most smaller files are read as a whole soon after they are
 * written, so the cache helps them. Views read only parts of larger files.
 */
export const LARGE_BYTES_MIN = 4 * 2 ** 20;

const allocators = new WeakSet<ArrayBufferLike>();

/**
 * Allocates zeroed memory that begins on a page, so that a disk can transfer whole sectors directly. WebAssembly memory
 * always begins on a page; other memory may begin anywhere.
 * @returns WebAssembly memory in whole pages of 64 KiB. Each memory takes 10 GB of the process's address space; when
 * the address space is used up, the function returns other memory.
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
