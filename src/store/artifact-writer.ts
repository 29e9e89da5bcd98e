import { createHash, hash, type Hash } from 'node:crypto';
import { constants, writeSync } from 'node:fs';
import { type FileHandle, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProducedBytes } from '#base/bytes.js';
import { allocatePageMemory, isPageMemory, LARGE_BYTES_MIN, releaseAtRest } from '#base/memory.js';
import {
  callDirectly,
  closeBy,
  type FolderCall,
  type FolderGuard,
  formatDraftPath,
  guardFolder,
  noGuard,
  openBy,
  PART_BYTES,
  removeFiles,
  syncFolder,
  WRITE_MS,
  writePart,
} from './artifacts/durable-files.js';
import { createGauge, type FreeSpace, watchFreeSpace } from './artifacts/free-space.js';
import type {
  ApartHash,
  ArtifactContent,
  ArtifactDestination,
  ArtifactRef,
  ArtifactWriter,
  EarlyArtifact,
  WriteOptions,
} from './port.js';

/** Opens a writer of artifacts for a destination, in any thread or process with access to it. */
export function openArtifactWriter(destination: ArtifactDestination): ArtifactWriter {
  if (destination.kind === 'folder') {
    const { folder, lowWaterMark, storeId } = destination;
    if (storeId === undefined) return createFolderWriter(folder, watchFreeSpace(folder, lowWaterMark));
    const guard = guardFolder(folder, storeId);
    return createFolderWriter(folder, watchFreeSpace(folder, lowWaterMark, createGauge(guard.call)), guard);
  }
  return {
    async write(contents, options) {
      // loaded on demand
      const { openObjectWriter } = await import('./s3/object-store.js');
      return (await openObjectWriter(destination)).write(contents, options);
    },
  };
}

/** Paths of a local file during and after its writing. */
interface EarlyPaths {
  readonly draft: string;
  readonly path: string;
}

/** Paths and tools of a file that is written early. */
interface EarlyFile extends EarlyPaths {
  readonly name: string;
  readonly freeSpace: FreeSpace;
  readonly hashApart: (() => ApartHash | undefined) | undefined;
}

/** Minimum number of bytes by which a large file is continued. */
const EXTENSION_BYTES_MIN = 1 << 20;

/** Started write of a file. */
interface StartedWrite {
  readonly bytes: number;
  extend(final: number): boolean;
  /** Writes what is left. @returns the SHA-256 of the file */
  end(): Promise<string>;
  /** Resolves when no other thread reads the bytes. */
  settled(): Promise<unknown>;
}

/**
 * Opens a file that a thread writes in the middle of its work. An asynchronous write would not continue before the end
 * of the work. Small bytes are therefore copied to the page cache at once, and one flush writes them to disk meanwhile.
 * Large bytes are written directly and hashed by other threads, each with one call.
 */
async function openEarly({ draft, path, name, freeSpace, hashApart }: EarlyFile): Promise<EarlyArtifact> {
  const handle = await openBy(callDirectly, draft, 'wx');
  const disk = hashApart && (await openDisk(callDirectly, draft, handle));
  let startedWrite: StartedWrite | undefined;

  async function close(): Promise<void> {
    await startedWrite?.settled();
    await disk?.close();
    await handle.close();
  }

  function beginSmall(bytes: Uint8Array): StartedWrite {
    const pendingFlush = startWrite(() => {
      for (let offset = 0; offset < bytes.length;) offset += writeSync(handle.fd, bytes, offset);
      return handle.datasync();
    });
    const sha256 = hash('sha256', bytes, 'hex');
    return {
      bytes: bytes.length,
      extend: () => false, // all bytes are final
      end: () => pendingFlush.then(() => sha256),
      settled: () => pendingFlush.catch(() => {}),
    };
  }

  function beginLarge(bytes: Uint8Array, final: number): StartedWrite | undefined {
    const bytesHash = isPlaced(bytes) ? hashApart?.() : undefined;
    if (disk === undefined || bytesHash === undefined) return undefined;
    let sha256: Promise<string> | undefined;
    const endHash = (): Promise<string> => (sha256 ??= bytesHash.hex());
    let hashedBytes = 0;
    let writtenBytes = 0;
    let lastWrite: Promise<void> | undefined;

    /** Continues up to a position. The first write starts at once; each later one follows the previous one. */
    function add(to: number): void {
      bytesHash!.begin(bytes.subarray(hashedBytes, to));
      hashedBytes = to;
      const sectors = bytes.subarray(writtenBytes, to === bytes.length ? to : to - (to % SECTOR_BYTES));
      writtenBytes += sectors.length;
      const previousWrite = lastWrite;
      lastWrite = startWrite(() =>
        previousWrite === undefined ? disk!.write(sectors) : previousWrite.then(() => disk!.write(sectors)),
      );
    }

    add(final);
    return {
      bytes: bytes.length,
      extend(to) {
        if (to - hashedBytes < EXTENSION_BYTES_MIN) return false;
        add(to);
        return true;
      },
      async end() {
        await freeSpace.admit(bytes.length - LARGE_BYTES_MIN);
        add(bytes.length);
        await lastWrite;
        await handle.datasync();
        return endHash();
      },
      settled: () => Promise.allSettled([lastWrite, endHash()]),
    };
  }

  return {
    begin(bytes, final = bytes.length) {
      if (bytes.length >= LARGE_BYTES_MIN) startedWrite = beginLarge(bytes, final);
      else if (final === bytes.length) startedWrite = beginSmall(bytes);
      return startedWrite !== undefined;
    },
    extend: (final) => startedWrite!.extend(final), // `begin` was called
    async end({ onWritten } = {}) {
      const { bytes, end } = startedWrite!; // `begin` was called
      try {
        const sha256 = await end();
        await onWritten?.({ file: handle, name, bytes, sha256 });
        await rename(draft, path);
        return { bytes, sha256 };
      } catch (thrown) {
        await unlink(draft).catch(() => {}); // garbage collection removes it later
        throw thrown;
      } finally {
        await close();
      }
    },
    async drop() {
      await close();
      await unlink(draft).catch(() => {}); // garbage collection removes it later, or a cancellation already did
    },
  };
}

/** Starts a write. The code that awaits the write receives its error. */
function startWrite(write: () => Promise<void>): Promise<void> {
  const pendingWrite = (async () => write())();
  pendingWrite.catch(() => {});
  return pendingWrite;
}

/** Number of bytes that are copied and hashed at a time. They fit into the second-level cache. */
const HASHED_BYTES = 1 << 17;

/** Number of bytes that are written at a time. The next block is copied and hashed meanwhile. */
const BLOCK_BYTES = 2 * 2 ** 20;

/** Alignment of direct writes. It is a multiple of the sector size. */
const SECTOR_BYTES = 4096;

/** Two blocks of aligned memory. */
type BlockPair = readonly [Uint8Array, Uint8Array];

/** Maximum number of cached block pairs per thread. Two files are written concurrently. */
const POOLED_BUFFERS_MAX = 2;
const blockPairs: BlockPair[] = [];
releaseAtRest(() => void blockPairs.splice(0));

function createBlockPair(): BlockPair {
  const memory = allocatePageMemory(2 * BLOCK_BYTES);
  return [new Uint8Array(memory, 0, BLOCK_BYTES), new Uint8Array(memory, BLOCK_BYTES, BLOCK_BYTES)];
}

interface LargeFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly bytes: Uint8Array | ProducedBytes;
  /** Called after each block with its number of bytes. */
  readonly written: (bytes: number) => Promise<void>;
}

/**
 * Writes and hashes a large file. One block is written while the next is hashed. Direct writes bypass the page cache of
 * the operating system. That cache costs a copy, and on a virtual machine up to thirty times as much for pages that
 * were not used recently.
 * @cost one pass of SHA-256; a copy of unaligned bytes at about 10 GB/s
 */
async function writeLarge(call: FolderCall, hash: Hash, file: LargeFile): Promise<void> {
  const { path, handle, bytes, written } = file;
  const blockPair = isPlaced(bytes) ? undefined : (blockPairs.pop() ?? createBlockPair());
  const blocks = blockPair ? copyBlocks(bytes, hash, blockPair) : hashBlocks(bytes as Uint8Array, hash);
  const disk = await openDisk(call, path, handle);
  try {
    let lastWrite = Promise.resolve();
    for (const block of blocks) {
      await lastWrite;
      lastWrite = disk.write(block);
      lastWrite.catch(() => {}); // the caller that awaits the write receives the error
      await written(block.length);
    }
    await lastWrite;
    if (blockPair && blockPairs.length < POOLED_BUFFERS_MAX) blockPairs.push(blockPair); // after a failure, a late call may still read this memory
  } finally {
    await disk.close();
  }
}

/** Returns true for bytes in memory from which the disk can transfer whole sectors. */
const isPlaced = (bytes: Uint8Array | ProducedBytes): bytes is Uint8Array =>
  bytes instanceof Uint8Array && isPageMemory(bytes.buffer) && bytes.byteOffset % SECTOR_BYTES === 0;

/**
 * Copies and hashes blocks with two buffers. A block must be written before the block after the next one is requested.
 */
function* copyBlocks(bytes: Uint8Array | ProducedBytes, hash: Hash, room: BlockPair): Generator<Uint8Array> {
  let block = 0;
  let filledBytes = 0;
  for (const part of bytes instanceof Uint8Array ? [bytes] : bytes.parts())
    for (let offset = 0; offset < part.length;) {
      const count = Math.min(part.length - offset, HASHED_BYTES, BLOCK_BYTES - filledBytes);
      const copy = room[block]!.subarray(filledBytes, filledBytes + count);
      copy.set(part.subarray(offset, offset + count));
      hash.update(copy);
      offset += count;
      filledBytes += count;
      if (filledBytes < BLOCK_BYTES) continue;
      yield room[block]!;
      block = 1 - block;
      filledBytes = 0;
    }
  yield room[block]!.subarray(0, filledBytes);
}

function* hashBlocks(bytes: Uint8Array, hash: Hash): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += BLOCK_BYTES) {
    const block = bytes.subarray(from, from + BLOCK_BYTES);
    for (let offset = 0; offset < block.length; offset += HASHED_BYTES) {
      const piece = block.subarray(offset, offset + HASHED_BYTES);
      fetchLines(piece);
      hash.update(piece);
    }
    yield block;
  }
}

const LINE_DOUBLES = 8;
/** Receives the sum, so that the compiler does not remove the loop. */
const sums = new Float64Array(1);

/**
 * Reads one number per cache line, which loads the lines into the second-level cache. SHA-256 then takes two thirds of
 * the time. SHA-256 itself reads so slowly that the processor hardly prefetches.
 */
function fetchLines({ buffer, byteOffset, byteLength }: Uint8Array): void {
  const values = new Float64Array(buffer, byteOffset, byteLength >> 3);
  let sum = 0;
  for (let i = 0; i < values.length; i += LINE_DOUBLES) sum += values[i]!;
  sums[0] = sum;
}

/** File that is written in blocks. Each block but the last one consists of whole sectors. */
interface Disk {
  write(block: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

async function openDisk(call: FolderCall, path: string, handle: FileHandle): Promise<Disk> {
  let directHandle = await openDirect(call, path);
  let offset = 0;

  async function close(): Promise<void> {
    const closedHandle = directHandle;
    directHandle = null;
    if (closedHandle !== null) await closeBy(call, closedHandle);
  }

  /** Writes whole sectors directly. @returns number of bytes written directly: 0 if the file system refused */
  async function writeSectors(sectors: Uint8Array): Promise<number> {
    if (directHandle === null || sectors.length === 0) return 0;
    const file = directHandle;
    try {
      return (await call(() => file.write(sectors, 0, sectors.length, offset), WRITE_MS)).bytesWritten;
    } catch (thrown) {
      if (!isRefused(thrown)) throw thrown;
      await close();
      return 0;
    }
  }

  return {
    async write(block) {
      const writtenBytes = await writeSectors(block.subarray(0, block.length - (block.length % SECTOR_BYTES)));
      await writePart(call, handle, block.subarray(writtenBytes), offset + writtenBytes);
      offset += block.length;
    },
    close,
  };
}

/** Opens a file for direct writes. @returns null if the operating system or the file system does not support them */
async function openDirect(call: FolderCall, path: string): Promise<FileHandle | null> {
  const { O_DIRECT, O_WRONLY } = constants as Partial<typeof constants>; // not defined on every operating system
  if (O_DIRECT === undefined) return null;
  try {
    return await openBy(call, path, O_WRONLY! | O_DIRECT);
  } catch (thrown) {
    if (isRefused(thrown)) return null;
    throw thrown;
  }
}

/** Error codes of file systems without direct writes. */
const UNSUPPORTED_CODES: readonly unknown[] = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'];

const isRefused = (thrown: unknown): boolean => UNSUPPORTED_CODES.includes((thrown as NodeJS.ErrnoException).code);

/** Creates a writer of artifacts to a folder. A file gets its final name only when it is complete on disk. */
function createFolderWriter(folder: string, freeSpace: FreeSpace, guard: FolderGuard = noGuard): ArtifactWriter {
  async function write(
    contents: readonly ArtifactContent[],
    { isSettledLater = false, onWritten }: WriteOptions,
  ): Promise<readonly ArtifactRef[]> {
    await freeSpace.admit(contents.reduce((sum, { bytes }) => sum + bytes.length, 0));
    const outcomes = await Promise.allSettled(
      contents.map((content) => writeFile(folder, content, { guard, onWritten })),
    );
    try {
      const failure = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failure !== undefined) throw failure.reason;
      if (!isSettledLater) await syncFolder(folder, guard.call);
    } catch (thrown) {
      await removeFiles(folder, listNames(contents), guard.call).catch(() => {}); // garbage collection removes the files later
      throw thrown;
    }
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  }

  async function createEarly(name: string, hashApart?: () => ApartHash | undefined): Promise<EarlyArtifact> {
    await freeSpace.admit(LARGE_BYTES_MIN);
    const path = join(folder, name);
    return openEarly({ draft: formatDraftPath(path), path, name, freeSpace, hashApart });
  }

  return {
    write: (contents, options = {}) =>
      guard.work(async (isAgain) => {
        if (isAgain) await removeFiles(folder, listNames(contents), guard.call);
        return write(contents, options);
      }),
    ...(guard === noGuard && { early: createEarly }),
  };
}

const listNames = (contents: readonly ArtifactContent[]): string[] => contents.map(({ name }) => name);

interface FileOptions extends Pick<WriteOptions, 'onWritten'> {
  readonly guard: FolderGuard;
}

async function writeFile(
  folder: string,
  { name, bytes }: ArtifactContent,
  { guard, onWritten }: FileOptions,
): Promise<ArtifactRef> {
  const { call } = guard;
  const path = join(folder, name);
  const hash = createHash('sha256');
  let sha256: string;
  const handle = await openBy(call, formatDraftPath(path), 'wx');
  try {
    const backgroundFlush = flushBehind(() => call(() => handle.datasync(), WRITE_MS));
    const { written } = backgroundFlush;
    if (guard === noGuard && bytes.length >= LARGE_BYTES_MIN)
      await writeLarge(call, hash, { path: formatDraftPath(path), handle, bytes, written });
    else
      for (const part of bytes instanceof Uint8Array ? iterateParts(bytes) : bytes.parts()) {
        const pendingWrite = writePart(call, handle, part);
        hash.update(part); // while another thread writes the part
        await pendingWrite;
        await written(part.length);
      }
    await backgroundFlush.end();
    sha256 = hash.digest('hex');
    if (guard === noGuard) await onWritten?.({ file: handle, name, bytes: bytes.length, sha256 });
  } finally {
    await closeBy(call, handle);
  }
  await call(() => rename(formatDraftPath(path), path), WRITE_MS);
  return { name, bytes: bytes.length, sha256 };
}

function* iterateParts(bytes: Uint8Array): Generator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += PART_BYTES) yield bytes.subarray(offset, offset + PART_BYTES);
}

/** Number of bytes after which a file is flushed. More of the file is written meanwhile. */
const FLUSHED_BYTES = 64 * 2 ** 20;

/** Flushes a file while it is written. Runs one flush at a time; each flush reports an error of the previous one. */
function flushBehind(flush: () => Promise<void>) {
  let lastFlush = Promise.resolve();
  let unflushedBytes = 0;
  async function writeNext(): Promise<void> {
    await lastFlush;
    unflushedBytes = 0;
    lastFlush = flush();
    lastFlush.catch(() => {}); // the caller that awaits the flush receives the error
  }
  return {
    written: async (bytes: number): Promise<void> => {
      unflushedBytes += bytes;
      if (unflushedBytes >= FLUSHED_BYTES) await writeNext();
    },
    async end(): Promise<void> {
      await writeNext();
      await lastFlush;
    },
  };
}
