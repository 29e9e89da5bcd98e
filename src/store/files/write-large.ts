import type { Hash } from 'node:crypto';
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { ProducedBytes } from '#base/memory/produced-bytes.js';
import { isPageMemory, allocatePageMemory } from '#base/memory/page-memory.js';
import { WRITE_MS, type FolderCall } from '../access/folder-calls.js';
import { closeBy, openBy, writePart } from './flush-folder.js';

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

function createBlockPair(): BlockPair {
  const memory = allocatePageMemory(2 * BLOCK_BYTES);
  return [new Uint8Array(memory, 0, BLOCK_BYTES), new Uint8Array(memory, BLOCK_BYTES, BLOCK_BYTES)];
}

interface LargeFile {
  readonly path: string;
  /** Handle of the empty file. */
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
export async function writeLarge(call: FolderCall, hash: Hash, file: LargeFile): Promise<void> {
  const { path, handle, bytes, written } = file;
  const isPlaced = bytes instanceof Uint8Array && isPageMemory(bytes.buffer) && bytes.byteOffset % SECTOR_BYTES === 0;
  const blockPair = isPlaced ? undefined : (blockPairs.pop() ?? createBlockPair());
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

/** Hashes blocks in place. */
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

/** Number of doubles per cache line. */
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
