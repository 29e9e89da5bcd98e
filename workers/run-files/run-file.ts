import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { resolveSiblingFile } from '#domain/backtest/run-file/separate-prices.js';
import { openColumns, type RunColumns } from '#domain/backtest/run-file/read.js';
import type { RangeReader } from '#domain/backtest/run-file/segments.js';
import { LARGE_BYTES_MIN, allocatePageMemory } from '#base/memory/page-memory.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { OpenRunFiles } from '#jobs/tasks/outputs.js';

/**
 * Opens a column file, runs `use`, and closes all files. `use` can read ranges of the file and of the earlier files
 * next to it.
 * @throws Refusal DOCUMENT_UNREADABLE if a file is missing or is not a run file
 */
export function useRunFile<T>(path: string, use: (columns: RunColumns) => T): T {
  const files: number[] = [];
  const getReader = (filePath: string): RangeReader => {
    const file = openFile(filePath);
    files.push(file);
    return (start, end, room) => readRange(file, start, end, room);
  };
  try {
    return use(openColumns(getReader(path), (name) => getReader(resolveSibling(path, name))));
  } finally {
    files.forEach((file) => closeSync(file));
  }
}

/** Returns the path of a file that the header of the columns names. */
export function resolveSibling(columns: string, name: string): string {
  return join(dirname(columns), resolveSiblingFile(basename(columns), name));
}

/** Opens the columns of a run on open file descriptors. The caller closes them. @throws Refusal DOCUMENT_UNREADABLE */
export function openFiles({ columns, earlier }: OpenRunFiles): RunColumns {
  const openReader =
    (file: number): RangeReader =>
    (start, end, room) =>
      readRange(file, start, end, room);
  return openColumns(openReader(columns), (name) => openReader(earlier[name]!));
}

function openFile(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (cause) {
    throw refuseFile(cause);
  }
}

/** Returns the refusal for an unreadable file. The file is not necessarily missing. */
function refuseFile(cause: unknown): Refusal {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
  const why = code === 'ENOENT' ? 'its file is missing' : `its file cannot be read (${code})`;
  return new Refusal('DOCUMENT_UNREADABLE', `The stored run cannot be read: ${why}.`, null, { cause });
}

/**
 * Fills a buffer with the bytes of a stored file from a position.
 * @throws Refusal DOCUMENT_UNREADABLE if the file is missing or too short
 */
export function readBytes(path: string, start: number, room: Uint8Array): void {
  const file = openFile(path);
  try {
    const count = readInto(file, start, room);
    if (count < room.length)
      throw new Refusal(
        'DOCUMENT_UNREADABLE',
        `The stored run cannot be read: its file has ${count} bytes from ${start}; ${room.length} are required.`,
      );
  } finally {
    closeSync(file);
  }
}

function readRange(
  file: number,
  start: number,
  end: number,
  room: Uint8Array = new Uint8Array(end - start),
): Uint8Array {
  const readCount = readInto(file, start, room);
  return readCount === room.length ? room : room.slice(0, readCount);
}

/** @returns the number of bytes read */
function readInto(file: number, start: number, room: Uint8Array): number {
  let readCount = 0;
  while (readCount < room.length) {
    const count = readPart(file, room.subarray(readCount), start + readCount);
    if (count === 0) break;
    readCount += count;
  }
  return readCount;
}

function readPart(file: number, room: Uint8Array, position: number): number {
  try {
    return readSync(file, room, 0, room.length, position);
  } catch (cause) {
    throw refuseFile(cause);
  }
}

/** Number of bytes that are hashed at a time. They fit into the second-level cache. */
const PART_BYTES = 1 << 17;

/** Buffer of this thread, which hashes one file at a time. */
let cachedBuffer: Uint8Array | undefined;

/**
 * Returns the SHA-256 of a stored file. Returns null if the file is absent or unreadable.
 * @param look called for each part; throws to end the read
 */
export function hashFile(path: string, look = (): void => {}): string | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return null; // a reconciliation reports a missing hash
  }
  const buffer = (cachedBuffer ??= new Uint8Array(PART_BYTES));
  const hash = createHash('sha256');
  try {
    for (let count = readNext(file, buffer); count !== 0; count = readNext(file, buffer)) {
      if (count === null) return null;
      hash.update(buffer.subarray(0, count));
      look();
    }
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

/** Number of bytes per direct read. */
const BLOCK_BYTES = 2 * 2 ** 20;

/** Page-aligned buffer of this thread. */
let block: Uint8Array | undefined;

/**
 * Hashes a file like `hashFile`, if the file is not read again soon. If the system allows it, a large file is read
 * without the page cache, whose use costs much time.
 * @cost for a large file half of the processor time, and a wait for the disk per 2 MiB
 */
export function hashOnce(path: string, bytes: number, look: () => void): string | null {
  const file = bytes < LARGE_BYTES_MIN ? undefined : openPastCache(path);
  if (file === undefined) return hashFile(path, look);
  const buffer = (block ??= new Uint8Array(allocatePageMemory(BLOCK_BYTES)));
  const hash = createHash('sha256');
  let hashedBytes = 0;
  try {
    for (let count = buffer.length; count === buffer.length; hashedBytes += count) {
      count = readNext(file, buffer) ?? 0; // a block may be incomplete at the end, after which whole sectors cannot be read
      hash.update(buffer.subarray(0, count));
      look();
    }
  } finally {
    closeSync(file);
  }
  return hashedBytes === bytes ? hash.digest('hex') : hashFile(path, look); // the system refused, or the file has changed
}

/** Opens a file for direct reads. Returns undefined if the system or the file system does not support them. */
function openPastCache(path: string): number | undefined {
  const { O_DIRECT } = constants as Partial<typeof constants>; // the constant is not defined on every system
  if (O_DIRECT === undefined) return undefined;
  try {
    return openSync(path, constants.O_RDONLY | O_DIRECT);
  } catch {
    return undefined;
  }
}

/**
 * Position at which the comparison begins, as a share of the file. Weights come before levels, and only levels differ
 * between runs that hold the same securities.
 */
const COMPARISON_START = 2 / 3;

/**
 * Returns true if a stored file exists with these bytes.
 * @cost one read of the file up to the first difference, beginning with its last third
 */
export function isContentOf(path: string, bytes: Uint8Array): boolean {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return false;
  }
  try {
    if (fstatSync(file).size !== bytes.length) return false;
    const tail = Math.floor(bytes.length * COMPARISON_START);
    return isEqualFrom(file, bytes, tail, bytes.length) && isEqualFrom(file, bytes, 0, tail);
  } finally {
    closeSync(file);
  }
}

/** Returns true if a range of an open file equals the bytes. */
function isEqualFrom(file: number, bytes: Uint8Array, from: number, to: number): boolean {
  const buffer = (cachedBuffer ??= new Uint8Array(PART_BYTES));
  for (let position = from; position < to;) {
    const target = buffer.subarray(0, Math.min(buffer.length, to - position));
    const count = readNext(file, target, position);
    if (!count || Buffer.compare(buffer.subarray(0, count), bytes.subarray(position, position + count)) !== 0)
      return false;
    position += count;
  }
  return true;
}

/** @returns the number of bytes read; null if they cannot be read */
function readNext(file: number, room: Uint8Array, position: number | null = null): number | null {
  try {
    return readSync(file, room, 0, room.length, position);
  } catch {
    return null;
  }
}
