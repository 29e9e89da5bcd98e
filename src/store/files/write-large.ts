import type { Hash } from 'node:crypto';
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { MadeBytes } from '#base/memory/made-bytes.js';
import { isPageMemory, pageMemory } from '#base/memory/page-memory.js';
import { WRITE_MS, type FolderCall } from '../access/folder-calls.js';
import { closeBy, openBy, writePart } from './flush-folder.js';

/** Bytes copied and hashed at a time: they are in the second cache of a processor then. */
const HASHED_BYTES = 1 << 17;

/** Bytes written at a time, while as many are copied and hashed. */
const BLOCK_BYTES = 2 * 2 ** 20;

/** What whole sectors of a disk are in. */
const SECTOR_BYTES = 4096;

/** Two blocks on whole sectors of memory. */
type Room = readonly [Uint8Array, Uint8Array];

/** Rooms that a thread keeps: those of two files that are written at once. */
const ROOMS_KEPT_MAX = 2;
const rooms: Room[] = [];

function createRoom(): Room {
  const memory = pageMemory(2 * BLOCK_BYTES);
  return [new Uint8Array(memory, 0, BLOCK_BYTES), new Uint8Array(memory, BLOCK_BYTES, BLOCK_BYTES)];
}

interface LargeFile {
  readonly path: string;
  /** Of the file, which is empty. */
  readonly handle: FileHandle;
  readonly bytes: Uint8Array | MadeBytes;
  /** Told after each block. */
  readonly written: (bytes: number) => Promise<void>;
}

/**
 * Writes and hashes a large file, one block while the next is hashed. A disk takes them from where they lie, past the
 * cache of the system, whose pages are dear: a copy, and on a guest system up to thirty times that for memory that it has
 * not used lately.
 * @cost one pass of SHA-256; a copy of what does not begin on a page, some 10 GB/s
 */
export async function writeLarge(call: FolderCall, hash: Hash, file: LargeFile): Promise<void> {
  const { path, handle, bytes, written } = file;
  const isPlaced = bytes instanceof Uint8Array && isPageMemory(bytes.buffer) && bytes.byteOffset % SECTOR_BYTES === 0;
  const room = isPlaced ? undefined : (rooms.pop() ?? createRoom());
  const blocks = room ? copiedBlocks(bytes, hash, room) : placedBlocks(bytes as Uint8Array, hash);
  const disk = await openDisk(call, path, handle);
  try {
    let writing = Promise.resolve();
    for (const block of blocks) {
      await writing;
      writing = disk.write(block);
      writing.catch(() => {}); // Whoever waits for it hears of it.
      await written(block.length);
    }
    await writing;
    if (room && rooms.length < ROOMS_KEPT_MAX) rooms.push(room); // After a failure a late call may still read it.
  } finally {
    await disk.close();
  }
}

/** Blocks by way of a room, hashed: each is written before the one after the next is asked for. */
function* copiedBlocks(bytes: Uint8Array | MadeBytes, hash: Hash, room: Room): Generator<Uint8Array> {
  let block = 0;
  let filled = 0;
  for (const part of bytes instanceof Uint8Array ? [bytes] : bytes.parts())
    for (let at = 0; at < part.length;) {
      const count = Math.min(part.length - at, HASHED_BYTES, BLOCK_BYTES - filled);
      const copy = room[block]!.subarray(filled, filled + count);
      copy.set(part.subarray(at, at + count));
      hash.update(copy);
      at += count;
      filled += count;
      if (filled < BLOCK_BYTES) continue;
      yield room[block]!;
      block = 1 - block;
      filled = 0;
    }
  yield room[block]!.subarray(0, filled);
}

/** Blocks of memory, hashed where they lie. */
function* placedBlocks(bytes: Uint8Array, hash: Hash): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += BLOCK_BYTES) {
    const block = bytes.subarray(from, from + BLOCK_BYTES);
    for (let at = 0; at < block.length; at += HASHED_BYTES) {
      const piece = block.subarray(at, at + HASHED_BYTES);
      fetchLines(piece);
      hash.update(piece);
    }
    yield block;
  }
}

/** Doubles of a line of the caches of a processor. */
const LINE_DOUBLES = 8;
/** Where the last sum goes, so that it is not left out. */
const sums = new Float64Array(1);

/**
 * Reads a number of each line: they are in the second cache then, where SHA-256 takes two thirds of the time. It reads so
 * little at once that a processor hardly looks ahead.
 */
function fetchLines({ buffer, byteOffset, byteLength }: Uint8Array): void {
  const values = new Float64Array(buffer, byteOffset, byteLength >> 3);
  let sum = 0;
  for (let i = 0; i < values.length; i += LINE_DOUBLES) sum += values[i]!;
  sums[0] = sum;
}

/** A file that is written block after block, each but the last of whole sectors. */
interface Disk {
  write(block: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

async function openDisk(call: FolderCall, path: string, handle: FileHandle): Promise<Disk> {
  let direct = await openDirect(call, path);
  let at = 0;

  async function close(): Promise<void> {
    const closing = direct;
    direct = null;
    if (closing !== null) await closeBy(call, closing);
  }

  /** @returns the bytes that were written past the cache: none where the file system takes none in this way */
  async function writeSectors(sectors: Uint8Array): Promise<number> {
    if (direct === null || sectors.length === 0) return 0;
    const file = direct;
    try {
      return (await call(() => file.write(sectors, 0, sectors.length, at), WRITE_MS)).bytesWritten;
    } catch (thrown) {
      if (!isRefused(thrown)) throw thrown;
      await close();
      return 0;
    }
  }

  return {
    async write(block) {
      const done = await writeSectors(block.subarray(0, block.length - (block.length % SECTOR_BYTES)));
      await writePart(call, handle, block.subarray(done), at + done);
      at += block.length;
    },
    close,
  };
}

/** @returns null where the system or the file system knows no such writes */
async function openDirect(call: FolderCall, path: string): Promise<FileHandle | null> {
  const { O_DIRECT, O_WRONLY } = constants as Partial<typeof constants>; // Not of every system.
  if (O_DIRECT === undefined) return null;
  try {
    return await openBy(call, path, O_WRONLY! | O_DIRECT);
  } catch (thrown) {
    if (isRefused(thrown)) return null;
    throw thrown;
  }
}

/** What file systems answer that take no such writes. */
const REFUSALS: readonly unknown[] = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'];

const isRefused = (thrown: unknown): boolean => REFUSALS.includes((thrown as NodeJS.ErrnoException).code);
