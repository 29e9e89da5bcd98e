import type { ByteRange, Memory } from '#domain/backtest/run-file/placed.js';
import { keptMemory } from '#base/memory/kept-memory.js';
import { pageMemory } from '#base/memory/page-memory.js';
import { emptyMemory, trimMemory } from '#kernels/memory/paged-memory.js';

/** Most bytes that a thread keeps for its next run: 500 names over 20 years take 57 MB. Of more it keeps the place alone. */
const KEPT_BYTES_MAX = 64 * 2 ** 20;

/** Memory that one run after the other uses. */
export interface RunMemory {
  /** That of the run before where it is large enough. */
  readonly take: Memory;
  /** Keeps what was taken last for the next run: nothing reads it any more. */
  giveBack(): void;
}

/**
 * Memory that is used again is there already, and nothing collects it: fresh pages and collections cost a fifth of a
 * run of 500 names over 20 years. Larger memory goes back to the system at once, for shared memory waits for a collection
 * that nothing asks for.
 */
export function createRunMemory(keptBytesMax = KEPT_BYTES_MAX): RunMemory {
  let taken: SharedArrayBuffer | undefined;
  let kept: SharedArrayBuffer | undefined;
  let isZero = false;
  return {
    take(bytes, anything) {
      if (bytes > keptBytesMax) trimMemory(); // what answers read before left
      taken = kept === undefined || kept.byteLength < bytes ? newMemory(bytes, keptBytesMax) : kept;
      if (taken === kept && !isZero) clear(taken, anything);
      kept = undefined;
      return taken;
    },
    giveBack() {
      isZero = taken !== undefined && taken.byteLength > keptBytesMax && emptyMemory(taken);
      if (isZero) trimMemory();
      if (taken !== undefined && (isZero || taken.byteLength <= keptBytesMax)) kept = taken;
      taken = undefined;
    },
  };
}

/** What is kept begins on a page: files are written from there. Larger memory is one that can be emptied. */
function newMemory(bytes: number, keptBytesMax: number): SharedArrayBuffer {
  return bytes <= keptBytesMax ? pageMemory(bytes) : keptMemory(bytes);
}

/** Shared memory is filled an element at a time: eight bytes at once take a third of the time that single ones do. */
function clear(memory: SharedArrayBuffer, { from, to }: ByteRange): void {
  const words = memory.byteLength >> 3;
  new Float64Array(memory, 0, words).fill(0, 0, from >> 3).fill(0, to >> 3);
  new Uint8Array(memory, words << 3).fill(0);
}
