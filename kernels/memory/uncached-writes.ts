import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { loadSystemCalls } from './system-calls.js';
import { writeInto, findWritableFile } from './paged-memory.js';

/**
 * Writer of large pieces of paged memory that are not read soon. It bypasses the page cache: the disk reads the bytes
 * directly from the buffer, so they are not copied. Without it, the first access to a page of memory is expensive on a
 * virtual machine: 10 us, a hundred times the cost of a copy.
 */
export interface UncachedWrites {
  /**
   * Returns the offset in a buffer at which bytes for an offset of a memory must begin. The buffer must have
   * `PADDING_BYTES` more bytes than are written.
   */
  beginIn(room: ArrayBuffer, memory: ArrayBufferLike, offset: number): number;
  /** Writes like `writeInto`, but uncached; uses the cache if the disk is slow or does not support direct writes. */
  write(memory: ArrayBufferLike, offset: number, bytes: Uint8Array): void;
  close(): void;
}

/** Alignment of disk sectors, and of memory that a disk reads. */
const SECTOR_BYTES = 4096;

export const PADDING_BYTES = SECTOR_BYTES;

/**
 * Minimum write speed of a disk for direct writes. Slower disks are written through the page cache, which accepts
 * writes immediately while memory is free.
 */
const DISK_BYTES_A_SECOND_MIN = 256 << 20;

/** Number of written bytes from which on the speed of a disk is known. */
const SPEED_SAMPLE_BYTES = 64 << 20;

/**
 * Opens a writer for some memories. @returns undefined if one of them is not on a disk, or the disk does not support
 * direct writes
 */
export function openUncachedWrites(memories: readonly ArrayBufferLike[]): UncachedWrites | undefined {
  const files = new Map<ArrayBufferLike, number>();
  const close = (): void => {
    for (const file of files.values()) closeSync(file);
    files.clear();
  };
  try {
    for (const memory of memories) {
      const writableFile = findWritableFile(memory);
      if (writableFile?.isOnDisk !== true) throw new Error('not on a disk');
      files.set(memory, openSync(`/proc/self/fd/${writableFile.file}`, constants.O_WRONLY | constants.O_DIRECT));
    }
  } catch {
    close();
    return undefined;
  }
  const speed = { bytes: 0, seconds: 0 };

  /**
   * Writes whole sectors. @returns the number of bytes written: all, unless the disk refuses direct writes or is slow
   */
  function writeSectors(file: number, bytes: Uint8Array, position: number): number {
    const startedMs = performance.now();
    let writtenBytes = 0;
    try {
      while (writtenBytes < bytes.length && writtenBytes % SECTOR_BYTES === 0)
        writtenBytes += writeSync(file, bytes, writtenBytes, bytes.length - writtenBytes, position + writtenBytes);
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'EINVAL') throw fault;
      close();
    }
    speed.bytes += writtenBytes;
    speed.seconds += (performance.now() - startedMs) / 1000;
    if (speed.bytes > SPEED_SAMPLE_BYTES && speed.bytes < DISK_BYTES_A_SECOND_MIN * speed.seconds) close();
    return writtenBytes;
  }

  return {
    beginIn(room, memory, offset) {
      const { pages } = findWritableFile(memory)!; // checked when the writer was opened
      return computeRemainder(offset - pages.before - loadSystemCalls()!.addressOf(room), SECTOR_BYTES);
    },
    write(memory, offset, bytes) {
      const file = files.get(memory);
      const { pages } = findWritableFile(memory)!; // checked when the writer was opened
      const inFile = offset - pages.before;
      const head = Math.max(-inFile, computeRemainder(-inFile, SECTOR_BYTES));
      const end = Math.min(bytes.length, pages.bytes - inFile);
      const sectorBytes = end - head - computeRemainder(inFile + end, SECTOR_BYTES);
      const writtenBytes =
        file === undefined || sectorBytes <= 0
          ? 0
          : writeSectors(file, bytes.subarray(head, head + sectorBytes), inFile + head);
      if (writtenBytes === 0) return writeInto(memory, offset, bytes);
      writeInto(memory, offset, bytes.subarray(0, head));
      writeInto(memory, offset + head + writtenBytes, bytes.subarray(head + writtenBytes));
    },
    close,
  };
}

const computeRemainder = (value: number, by: number): number => ((value % by) + by) % by;
