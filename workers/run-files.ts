import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { allocatePageMemory, allocateRetainedFloats, LARGE_BYTES_MIN, releaseAtRest } from '#base/memory.js';
import { resolveSiblingFile } from '#domain/backtest/run-file/header.js';
import { openColumns, type RangeReader, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { Refusal } from '#domain/base/refusals.js';
import { createMarketKey, type MarketHandle } from '#domain/market/market-data.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { CheckedFiles, HashCells, HashedFile, SharedHashes } from '#jobs/tasks/messages.js';
import type { OpenRunFiles } from '#jobs/tasks/runs.js';
import type { NewFile } from '#store/port.js';
import type { DatedFigures, FigureCache } from '#views/dated-figures.js';

/**
 * Maximum memory for cached figures of runs with their texts. It is enough for about eighty datapoints of 20 years, 0.8
 * MB each. The figures of one response may exceed it until the next request.
 */
const FIGURES_BYTES_MAX = 64 * 2 ** 20;

/** Cached figures by key, least recently used first. */
const cachedFigures = new Map<string, DatedFigures>();
releaseAtRest(() => cachedFigures.clear());

/**
 * Returns the cached figures of a run on a market. The content of a key never changes, because run files have unique
 * names and a content hash identifies the market.
 * @param columns file with the columns of the run
 */
export function getFigures(columns: string, market: MarketHandle | null): FigureCache {
  const source = [columns, market && createMarketKey(market)];
  return (what, { width, dates, areWritten = false }) => {
    const key = JSON.stringify([source, what]);
    const figures = cachedFigures.get(key) ?? {
      values: allocateRetainedFloats(width * dates),
      known: new Uint8Array(dates),
      texts: areWritten ? [] : null,
    };
    cachedFigures.delete(key);
    cachedFigures.set(key, figures);
    let bytes = 0;
    for (const datedFigures of cachedFigures.values()) bytes += computeSize(datedFigures);
    for (const [oldest, datedFigures] of cachedFigures) {
      if (bytes <= FIGURES_BYTES_MAX) break;
      cachedFigures.delete(oldest);
      bytes -= computeSize(datedFigures);
    }
    return figures;
  };
}

function computeSize({ values, known, texts }: DatedFigures): number {
  let bytes = values.byteLength + known.byteLength;
  for (const text of texts ?? []) bytes += text === undefined ? 0 : text.bytes.length + text.marks.byteLength;
  return bytes;
}

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
export function openRunFiles({ columns, earlier }: OpenRunFiles): RunColumns {
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
 * Returns true if a stored file exists with these bytes.
 * @param begin offset of the first part to compare; the bytes before it are compared at the end
 * @cost one read of the file up to the first difference
 */
export function isContentOf(path: string, bytes: Uint8Array, begin = 0): boolean {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return false;
  }
  try {
    if (fstatSync(file).size !== bytes.length) return false;
    return isEqualFrom(file, bytes, begin, bytes.length) && isEqualFrom(file, bytes, 0, begin);
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

/**
 * Minimum size of a file that is recorded. A smaller file is hashed again, because hashing it is as fast as a look-up.
 */
export const REMEMBERED_BYTES_MIN = 256 * 1024;

/**
 * Resolution of file times in ms. It is at most two seconds (FAT). A second change within one step may leave the time
 * unchanged.
 */
const TIME_STEP_MS = 3000;

/** Number of 64-bit words of a digest that are stored. */
const DIGEST_WORDS = 2;
/** Number of words per row. A further word of the digest selects the row. */
const ROW_WORDS = 8 * DIGEST_WORDS;
const WORD_BYTES = 8;

/**
 * Metadata that identifies the state of a file. It does not include the change time, because a new hard link alters it.
 */
type FileState = Pick<BigIntStats, 'dev' | 'ino' | 'size' | 'mtimeNs'>;

/**
 * Returns true if a stored file has the recorded content. If this process wrote or hashed the file and it has not
 * changed since, the file is not read.
 * @param look called for each part that is read; throws to end the read
 * @param isKept called after a read with the right content; returns true to record the file
 * @cost a stat of the file, or one read of it
 */
export function hasContent(
  { path, sha256 }: HashedFile,
  checked: CheckedFiles | undefined,
  look: () => void,
  isKept: () => boolean = () => true,
): boolean {
  const settledBefore = BigInt(Date.now() - TIME_STEP_MS) * 1_000_000n;
  const state = findState(path); // taken before the read, so that no later change is missed
  if (state === undefined) return false;
  if (checked !== undefined && isRemembered(checked, computeDigestSlot(checked, sha256, state))) return true;
  if (hashOnce(path, Number(state.size), look) !== sha256) return false;
  if (checked !== undefined && state.mtimeNs < settledBefore && isKept()) remember(checked, sha256, state);
  return true;
}

/** Returns the state of a file. Returns undefined if the file is absent or the system does not report its state. */
function findState(path: string): FileState | undefined {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

/**
 * Records a new file and sets its time back by two steps. A later write then changes the time, and the next reader can
 * rely on it.
 */
export async function rememberWritten(
  checked: CheckedFiles,
  { file, bytes, sha256 }: Omit<NewFile, 'name'>,
): Promise<void> {
  if (bytes < REMEMBERED_BYTES_MIN) return;
  const state = await resetClock(file);
  if (state?.size === BigInt(bytes)) remember(checked, sha256, state);
}

/** Sets the time of a file back. Returns undefined if the file system does not allow it. */
async function resetClock(file: FileHandle): Promise<FileState | undefined> {
  const time = new Date(Date.now() - 2 * TIME_STEP_MS);
  try {
    await file.utimes(time, time);
    return await file.stat({ bigint: true });
  } catch {
    return undefined; // the next reader hashes the file
  }
}

function isRemembered(checked: CheckedFiles, { row, words }: DigestSlot): boolean {
  for (let position = row; position < row + ROW_WORDS; position += DIGEST_WORDS)
    if (checked[position] === words[0] && checked[position + 1] === words[1]) return true;
  return false;
}

/**
 * Records a digest. Threads write concurrently without locks. If the words of two digests mix, the result matches no
 * file.
 */
function remember(checked: CheckedFiles, sha256: string, state: FileState): void {
  if (state.size < REMEMBERED_BYTES_MIN) return;
  const digestSlot = computeDigestSlot(checked, sha256, state);
  if (isRemembered(checked, digestSlot)) return;
  const { row, words } = digestSlot;
  let position = row;
  while (position < row + ROW_WORDS && checked[position] !== 0n) position += DIGEST_WORDS;
  if (position === row + ROW_WORDS) position = row + DIGEST_WORDS * Number(words[0] % BigInt(ROW_WORDS / DIGEST_WORDS)); // one of the slots of the row, at random
  checked.set(words, position);
}

/** Row and words of the digest of a content and a file state. */
interface DigestSlot {
  readonly row: number;
  readonly words: readonly [bigint, bigint];
}

function computeDigestSlot(checked: CheckedFiles, sha256: string, { dev, ino, size, mtimeNs }: FileState): DigestSlot {
  const digest = createHash('sha256').update([sha256, dev, ino, size, mtimeNs].join(' ')).digest();
  const words = [digest.readBigUInt64LE(0), digest.readBigUInt64LE(WORD_BYTES)] as const;
  const row =
    ROW_WORDS * Number(digest.readBigUInt64LE(DIGEST_WORDS * WORD_BYTES) % BigInt(checked.length / ROW_WORDS));
  return { row, words };
}

/** States of a file: unclaimed, being hashed, hashed, absent. */
const UNCLAIMED = 0;
const CLAIMED = 1;
const HASHED = 2;
const ABSENT = 3;

const DIGEST_BYTES = 32;

/**
 * Approximate number of bytes that a thread hashes per ms. A thread waits for a digest as long as it would take to
 * compute it.
 */
const BYTES_PER_MS = 1e6;

/** Hashes files that no thread has claimed yet. */
export const hashFiles: Task<'hash-files'> = (hashes) => {
  claimFiles(hashes);
  return null;
};

/**
 * Returns the SHA-256 of every file, null for an absent file. Hashes files on this thread that no thread has claimed,
 * and waits for the other files.
 */
export function completeHashes(hashes: SharedHashes): (string | null)[] {
  claimFiles(hashes);
  return hashes.paths.map((path, k) => finishHash(hashes.cells, k, path) ?? hashFile(path));
}

function claimFiles({ paths, cells: { states, digests } }: SharedHashes): void {
  for (const [k, path] of paths.entries()) {
    if (Atomics.compareExchange(states, k, UNCLAIMED, CLAIMED) !== UNCLAIMED) continue;
    const digest = hashFile(path);
    if (digest !== null) digests.set(Buffer.from(digest, 'hex'), k * DIGEST_BYTES);
    Atomics.store(states, k, digest === null ? ABSENT : HASHED);
    Atomics.notify(states, k);
  }
}

/**
 * Returns the hash from the thread that claimed a file. Returns undefined if the thread found no file, has ended or is
 * too slow.
 */
function finishHash({ states, digests }: HashCells, k: number, path: string): string | undefined {
  if (Atomics.load(states, k) === CLAIMED)
    Atomics.wait(states, k, CLAIMED, (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / BYTES_PER_MS);
  return Atomics.load(states, k) === HASHED
    ? Buffer.from(digests.slice(k * DIGEST_BYTES, (k + 1) * DIGEST_BYTES)).toString('hex')
    : undefined;
}
