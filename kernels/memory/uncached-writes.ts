import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { systemCalls } from './system-calls.js';
import { writeInto, writtenPlace } from './paged-memory.js';

/**
 * Writes large pieces of paged memory that are not read soon, past the cache of the system: the disk reads them in
 * place, and they cost neither memory nor a copy. A page of memory that was not used lately is expensive on a guest
 * system: 10 us, a hundred copies of it.
 */
export interface UncachedWrites {
  /** Byte of a room at which those are to begin that go to a place of a memory; a room has `SPARE_BYTES` more than they take. */
  beginIn(room: ArrayBuffer, memory: ArrayBufferLike, offset: number): number;
  /** As `writeInto`; through the cache as well where the disk is slow, or takes no others. */
  write(memory: ArrayBufferLike, offset: number, bytes: Uint8Array): void;
  close(): void;
}

/** Alignment of whole sectors of a disk, and of memory that a disk reads. */
const SECTOR_BYTES = 4096;

export const SPARE_BYTES = SECTOR_BYTES;

/** Slower disks are written through the cache of the system, which accepts writes at once while memory is free. */
const DISK_BYTES_A_SECOND_MIN = 256 << 20;

/** Bytes from which on the speed of a disk is known. */
const KNOWN_FROM_BYTES = 64 << 20;

/** @returns undefined where some of the memories are not on a disk, or it does not support such writes */
export function openUncachedWrites(memories: readonly ArrayBufferLike[]): UncachedWrites | undefined {
  const files = new Map<ArrayBufferLike, number>();
  const close = (): void => {
    for (const file of files.values()) closeSync(file);
    files.clear();
  };
  try {
    for (const memory of memories) {
      const place = writtenPlace(memory);
      if (place?.isOnDisk !== true) throw new Error('not on a disk');
      files.set(memory, openSync(`/proc/self/fd/${place.file}`, constants.O_WRONLY | constants.O_DIRECT));
    }
  } catch {
    close();
    return undefined;
  }
  const speed = { bytes: 0, seconds: 0 };

  /** Whole sectors. @returns the bytes that were written: all, unless the disk takes none in this way, or slowly */
  function writeSectors(file: number, bytes: Uint8Array, at: number): number {
    const began = performance.now();
    let done = 0;
    try {
      while (done < bytes.length && done % SECTOR_BYTES === 0)
        done += writeSync(file, bytes, done, bytes.length - done, at + done);
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'EINVAL') throw fault;
      close();
    }
    speed.bytes += done;
    speed.seconds += (performance.now() - began) / 1000;
    if (speed.bytes > KNOWN_FROM_BYTES && speed.bytes < DISK_BYTES_A_SECOND_MIN * speed.seconds) close();
    return done;
  }

  return {
    beginIn(room, memory, offset) {
      const { pages } = writtenPlace(memory)!; // asked for above
      return remainder(offset - pages.before - systemCalls()!.addressOf(room), SECTOR_BYTES);
    },
    write(memory, offset, bytes) {
      const file = files.get(memory);
      const { pages } = writtenPlace(memory)!; // as above
      const inFile = offset - pages.before;
      const head = Math.max(-inFile, remainder(-inFile, SECTOR_BYTES));
      const end = Math.min(bytes.length, pages.bytes - inFile);
      const whole = end - head - remainder(inFile + end, SECTOR_BYTES);
      const done =
        file === undefined || whole <= 0 ? 0 : writeSectors(file, bytes.subarray(head, head + whole), inFile + head);
      if (done === 0) return writeInto(memory, offset, bytes);
      writeInto(memory, offset, bytes.subarray(0, head));
      writeInto(memory, offset + head + done, bytes.subarray(head + done));
    },
    close,
  };
}

const remainder = (value: number, by: number): number => ((value % by) + by) % by;
