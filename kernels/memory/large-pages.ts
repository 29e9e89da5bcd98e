import { loadSystemCalls } from './system-calls.js';

/** Advice of madvise on Linux to use large pages. */
const USE_LARGE_PAGES = 14;
/** Size of a large page on most processors. */
const LARGE_PAGE_BYTES = 2 ** 21;

/**
 * Allocates shared memory in pages of 64 KiB, backed by large pages if the system has them.
 * @returns undefined if the process has no address space left: such memory reserves 10 GB of it, regardless of its size
 */
export function allocatePages(pages: number): WebAssembly.Memory | undefined {
  try {
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    useLargePages(memory.buffer);
    return memory;
  } catch (fault) {
    if (fault instanceof RangeError) return undefined;
    throw fault;
  }
}

/**
 * Maximum size of memory for large pages. Larger memory belongs mostly to a single run, which uses each page only a few
 * times. Filling large pages with zeros then takes longer than it saves.
 */
const BYTES_MAX = 64 * 2 ** 20;

/**
 * Requests large pages for memory that is used repeatedly. Must be called before the first write. Address translation
 * then covers 500 times fewer pages, and prefetching continues past the end of a small page. Has no effect if the
 * system has no free large pages or does not support the call.
 */
export function useLargePages(memory: ArrayBufferLike): void {
  const calls = memory.byteLength > BYTES_MAX ? null : loadSystemCalls();
  if (calls === null) return;
  const position = calls.addressOf(memory);
  const from = Math.ceil(position / LARGE_PAGE_BYTES) * LARGE_PAGE_BYTES;
  const to = Math.floor((position + memory.byteLength) / LARGE_PAGE_BYTES) * LARGE_PAGE_BYTES;
  if (to > from) calls.advise(from, to - from, USE_LARGE_PAGES);
}
