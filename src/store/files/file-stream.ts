import { closeSync, read as readCallback } from 'node:fs';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { refuseDamagedArtifact } from '../access/artifact-damage.js';
import type { FolderCall } from '../access/folder-calls.js';
import type { ArtifactRef } from '../port.js';
import type { PassingHash } from './passing-hash.js';

const readFile = promisify(readCallback);

/**
 * Number of bytes per read of a stream. A run of 20 MB takes 80 reads, and the buffers of 1,000 slow readers fit in
 * memory.
 */
const CHUNK_BYTES = 256 * 1024;

/** Maximum number of bytes per call. A large result takes several calls, each with a time limit. */
const PIECE_BYTES = 16 << 20;

/** Size of the buffer of one verification. It is small, because a thousand readers may start at once. */
const VERIFIED_BYTES = 256 * 1024;

export type Range = { readonly start: number; readonly end: number };

/** Bytes `start` to `end` (exclusive) of an open file. */
export interface FileRange extends Range {
  readonly file: number;
  /** CRC-32 of the bytes of the artifact read so far. */
  readonly passed?: { crc32: number };
  /** Artifact that ends with this range, and the CRC-32 from its verification. */
  readonly ends?: { readonly ref: ArtifactRef; readonly crc32: number };
}

/** Streams the bytes of consecutive ranges. If the caller supplies a buffer (`byob`), reads allocate no chunks. */
export function streamFrom(ranges: readonly FileRange[], call: FolderCall): ReadableStream<Uint8Array> {
  const files = new Set(ranges.map(({ file }) => file));
  const leftFileRanges = ranges.filter(({ start, end, ends }) => end > start || ends);
  let offset = leftFileRanges[0]?.start ?? 0;
  let isOpen = true;
  let isReading = false;
  const closeFiles = (): void => files.forEach((file) => closeSync(file));
  const close = (): void => {
    if (isOpen && !isReading) closeFiles(); // the system may reuse the descriptors as soon as they are closed
    isOpen = false;
  };

  /**
   * Reads a part of a range. After the last part, checks the CRC-32, because the file may have changed since its
   * verification.
   */
  async function addPart({ file, end, passed, ends }: FileRange, part: Uint8Array): Promise<void> {
    await fill(file, part, offset, call);
    if (passed) passed.crc32 = crc32(part, passed.crc32);
    if (ends && offset + part.length === end && passed!.crc32 !== ends.crc32)
      throw refuseDamagedArtifact(ends.ref.name);
  }

  return new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: CHUNK_BYTES,
    async pull(controller) {
      const request = controller.byobRequest!; // always present because of autoAllocateChunkSize
      const { buffer, byteOffset, byteLength } = request.view!;
      let length = 0;
      try {
        for (let range = leftFileRanges[0]; range && length === 0; range = leftFileRanges[0]) {
          const chunk = new Uint8Array(buffer, byteOffset, Math.min(byteLength, range.end - offset));
          isReading = true;
          await addPart(range, chunk).finally(() => (isReading = false));
          if (!isOpen) return closeFiles(); // cancelled meanwhile
          length = chunk.length;
          offset += length;
          if (offset < range.end) continue;
          leftFileRanges.shift();
          offset = leftFileRanges[0]?.start ?? 0;
        }
      } catch (thrown) {
        close();
        controller.error(thrown);
        return;
      }
      if (length > 0) request.respond(length);
      if (leftFileRanges.length > 0) return;
      close();
      controller.close();
      if (length === 0) request.respond(0); // completes a pending read without bytes
    },
    cancel: close,
  });
}

export async function readRange(
  file: number,
  { start, end }: Range,
  call: FolderCall,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  await fill(file, bytes, start, call);
  return bytes;
}

async function fill(file: number, bytes: Uint8Array, start: number, call: FolderCall): Promise<void> {
  let filledBytes = 0;
  while (filledBytes < bytes.length) {
    const [length, offset] = [Math.min(bytes.length - filledBytes, PIECE_BYTES), filledBytes];
    const { bytesRead } = await call(() => readFile(file, bytes, offset, length, start + offset));
    if (bytesRead === 0) throw new Error(`the file ended ${bytes.length - filledBytes} bytes early`);
    filledBytes += bytesRead;
  }
}

interface Verification {
  readonly file: number;
  readonly ref: Pick<ArtifactRef, 'name' | 'bytes' | 'sha256'>;
  readonly hash: PassingHash;
}

/**
 * Verifies an open file against its hash.
 * @returns its CRC-32, which checks a second read at a third of the cost
 * @throws Refusal DOCUMENT_UNREADABLE
 * @cost one read of the file; at most 256 KiB of memory
 */
export async function verifyFile({ file, ref, hash }: Verification, call: FolderCall): Promise<number> {
  let crc = 0;
  const buffer = new Uint8Array(Math.min(ref.bytes, VERIFIED_BYTES));
  for (let offset = 0; offset < ref.bytes; offset += buffer.length) {
    const chunk = buffer.subarray(0, ref.bytes - offset);
    await fill(file, chunk, offset, call);
    const pendingHash = hash.add(chunk);
    crc = crc32(chunk, crc); // while another thread hashes the part
    await pendingHash;
  }
  if ((await hash.hex()) !== ref.sha256) throw refuseDamagedArtifact(ref.name);
  return crc;
}
