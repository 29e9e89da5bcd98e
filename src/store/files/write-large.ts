import type { Hash } from 'node:crypto';
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { FolderCall } from '../place/folder-calls.js';
import { WRITE_MS } from '../place/folder-calls.js';
import { closeBy, openBy, writePart } from './flush-folder.js';

/**
 * Bytes from which on a file is written past the cache of the system. Smaller ones are mostly read as a whole soon, as
 * results are; of larger ones views read parts.
 */
export const LARGE_BYTES_MIN = 4 * 2 ** 20;

/** Bytes copied and hashed at a time: they are in the second cache of a processor then. */
const HASHED_BYTES = 1 << 17;

/** Bytes written at a time, while as many are copied and hashed. */
const BLOCK_BYTES = 2 * 2 ** 20;

/** What whole sectors of a disk are in. */
const SECTOR_BYTES = 4096;

/** Of a page of WebAssembly. */
const PAGE_BYTES = 2 ** 16;

/** Two blocks on whole sectors of memory. */
type Room = readonly [Uint8Array<SharedArrayBuffer>, Uint8Array<SharedArrayBuffer>];

/** Rooms that a thread keeps: columns and snapshots of a run are written at once. */
const ROOMS_KEPT_MAX = 2;
const rooms: Room[] = [];

/** Memory of WebAssembly begins on a page wherever it runs; other memory begins where the system likes. */
function createRoom(): Room {
  const pages = (2 * BLOCK_BYTES) / PAGE_BYTES;
  const { buffer } = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  return [new Uint8Array(buffer, 0, BLOCK_BYTES), new Uint8Array(buffer, BLOCK_BYTES, BLOCK_BYTES)];
}

interface LargeFile {
  readonly path: string;
  /** Of the file, which is empty. */
  readonly handle: FileHandle;
  readonly parts: Iterable<Uint8Array>;
  /** Told after each block. */
  readonly written: (bytes: number) => Promise<void>;
}

/**
 * Writes and hashes a large file by way of two blocks: one is written while the other is filled. A disk takes them from
 * where they lie, past the cache of the system, whose pages are dear: a copy, and on a guest system up to thirty times
 * that for memory that it has not used lately. What has just been copied is hashed in two thirds of the time.
 * @cost a copy of the bytes, some 10 GB/s
 */
export async function writeLarge(call: FolderCall, hash: Hash, file: LargeFile): Promise<void> {
  const { path, handle, parts, written } = file;
  const room = rooms.pop() ?? createRoom();
  const blocks = await openBlocks(call, path, handle);
  try {
    let writing = Promise.resolve();
    let block = 0;
    let filled = 0;
    const next = async (): Promise<void> => {
      await writing;
      writing = blocks.write(room[block]!.subarray(0, filled));
      writing.catch(() => {}); // Whoever waits for it hears of it.
      await written(filled);
      block = 1 - block;
      filled = 0;
    };
    for (const part of parts)
      for (let at = 0; at < part.length;) {
        const count = Math.min(part.length - at, HASHED_BYTES, BLOCK_BYTES - filled);
        const copy = room[block]!.subarray(filled, filled + count);
        copy.set(part.subarray(at, at + count));
        hash.update(copy);
        at += count;
        filled += count;
        if (filled === BLOCK_BYTES) await next();
      }
    await next();
    await writing;
    if (rooms.length < ROOMS_KEPT_MAX) rooms.push(room); // After a failure a late call may still read it.
  } finally {
    await blocks.close();
  }
}

/** A file that is written block after block, each but the last of whole sectors. */
interface Blocks {
  write(block: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

async function openBlocks(call: FolderCall, path: string, handle: FileHandle): Promise<Blocks> {
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

const isRefused = (thrown: unknown): boolean => (thrown as NodeJS.ErrnoException).code === 'EINVAL';
