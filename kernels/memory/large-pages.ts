import { systemCalls } from './system-calls.js';

/** Of Linux. */
const USE_LARGE_PAGES = 14;
/** Of a large page of most processors. */
const LARGE_PAGE_BYTES = 2 ** 21;

/**
 * Shared memory of whole pages of 64 KiB, large ones where the system has them.
 * @returns undefined where the process has no addresses left: such memory takes 10 GB of them, whatever its size
 */
export function memoryOfPages(pages: number): WebAssembly.Memory | undefined {
  try {
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    useLargePages(memory.buffer);
    return memory;
  } catch (fault) {
    if (fault instanceof RangeError) return undefined;
    throw fault;
  }
}

/** Memory beyond this is mostly that of one run, which touches each page few times: zeroing it by large ones takes longer. */
const BYTES_MAX = 64 * 2 ** 20;

/**
 * Asks for large pages under memory that is read and written again and again, before anything is in it: each pass looks for
 * the place of 500 times fewer pages, and the processor reads ahead beyond the end of a small one. A system that has none
 * free, or knows no such call, leaves it as it is.
 */
export function useLargePages(memory: ArrayBufferLike): void {
  const calls = memory.byteLength > BYTES_MAX ? null : systemCalls();
  if (calls === null) return;
  const at = calls.addressOf(memory);
  const from = Math.ceil(at / LARGE_PAGE_BYTES) * LARGE_PAGE_BYTES;
  const to = Math.floor((at + memory.byteLength) / LARGE_PAGE_BYTES) * LARGE_PAGE_BYTES;
  if (to > from) calls.advise(from, to - from, USE_LARGE_PAGES);
}
