import { useLargePages } from '#kernels/memory/large-pages.js';

const PAGE_BYTES = 2 ** 16;

const made = new WeakSet<ArrayBufferLike>();

/**
 * Zeroed memory that begins on a page, so that a disk takes whole sectors from where they lie: that of WebAssembly does
 * wherever it runs, other memory begins where the system likes.
 * @returns whole pages of 64 KiB; other memory where the process has no addresses left, of which each takes 10 GB
 */
export function pageMemory(bytes: number): SharedArrayBuffer {
  const pages = Math.ceil(bytes / PAGE_BYTES);
  try {
    const { buffer } = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    made.add(buffer);
    useLargePages(buffer);
    return buffer;
  } catch (fault) {
    if (fault instanceof RangeError) return new SharedArrayBuffer(pages * PAGE_BYTES);
    throw fault;
  }
}

/** Whether memory is of those above. */
export const isPageMemory = (memory: ArrayBufferLike): boolean => made.has(memory);
