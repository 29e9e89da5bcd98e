import { Buffer } from 'node:buffer';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  SEPARATE_BYTES,
  canPage,
  allocateHandedMemory,
  limitMemory,
  findMemoryLimit,
  allocatePanels,
  findPagedFile,
  openUncachedWrites,
  PADDING_BYTES,
} from '#kernels/memory/paged-memory.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();
const usualLimit = findMemoryLimit();

beforeEach(async () => {
  limitMemory({ panelBytes: 2 ** 20, folder: await createFolder(), keepsNames: true });
});
afterEach(() => void limitMemory(usualLimit));

/** Creates memory on a file that stays open. The library maps this file separately. */
function openUncachedMemory(skip: (reason: string) => never): SharedArrayBuffer {
  if (!canPage()) skip('memory is paged on Linux with the optional package koffi');
  const memory = allocatePanels(SEPARATE_BYTES + 100);
  if (findPagedFile(memory) === undefined) skip('memory of this size is not asked of the system alone here');
  return memory;
}

const SIZES = [1, 4095, 4096, 4097, 10_240, 100_008];

test.for([0, 8, 16, 4080, 4096, 100_000, SEPARATE_BYTES - 50_000])(
  'bytes from byte %i on are in memory as they were written, and no others',
  (offset, { skip }) => {
    const memory = openUncachedMemory(skip);
    const uncachedWrites = openUncachedWrites([memory]);
    if (uncachedWrites === undefined) skip('the folder for temporary files takes no writes past the cache');
    const sizes = [...SIZES, memory.byteLength - offset].filter((size) => offset + size <= memory.byteLength);
    for (const [turn, size] of sizes.entries()) {
      const buffer = new ArrayBuffer(size + PADDING_BYTES);
      const bytes = new Uint8Array(buffer, uncachedWrites!.beginIn(buffer, memory, offset), size);
      for (let i = 0; i < size; i++) bytes[i] = (i * 7 + turn) % 251;
      const before = Buffer.from(new Uint8Array(memory).slice(Math.max(0, offset - 5000), offset));
      const bytesBehind = Buffer.from(new Uint8Array(memory).slice(offset + size, offset + size + 5000));
      uncachedWrites!.write(memory, offset, bytes);
      expect(Buffer.compare(Buffer.from(new Uint8Array(memory).slice(offset, offset + size)), bytes)).toBe(0);
      expect(
        Buffer.compare(Buffer.from(new Uint8Array(memory).slice(Math.max(0, offset - 5000), offset)), before),
      ).toBe(0);
      expect(
        Buffer.compare(Buffer.from(new Uint8Array(memory).slice(offset + size, offset + size + 5000)), bytesBehind),
      ).toBe(0);
    }
    uncachedWrites!.close();
  },
);

test('misaligned bytes are written too, also beyond the end of the file', ({ skip }) => {
  const memory = openUncachedMemory(skip);
  const uncachedWrites = openUncachedWrites([memory]);
  if (uncachedWrites === undefined) skip('the folder for temporary files takes no writes past the cache');
  const buffer = new ArrayBuffer(50_000 + PADDING_BYTES);
  const begin = (uncachedWrites!.beginIn(buffer, memory, 8192) + 24) % PADDING_BYTES;
  const bytes = new Uint8Array(buffer, begin, 50_000).fill(3);
  uncachedWrites!.write(memory, 8192, bytes);
  expect(new Uint8Array(memory, 8192, 50_000).every((byte) => byte === 3)).toBe(true);
  uncachedWrites!.close();
  uncachedWrites!.write(memory, 8192, bytes.fill(4));
  expect(new Uint8Array(memory, 8192, 50_000).every((byte) => byte === 4)).toBe(true);
});

test('memory outside a disk has no file', ({ skip }) => {
  const memory = openUncachedMemory(skip);
  limitMemory({ ...findMemoryLimit(), panelBytes: 2 ** 40, sharedFolder: findMemoryLimit().folder! });
  const sharedMemory = allocateHandedMemory(SEPARATE_BYTES, SEPARATE_BYTES);
  expect(openUncachedWrites([memory, sharedMemory])).toBeUndefined();
  expect(openUncachedWrites([new SharedArrayBuffer(8)])).toBeUndefined();
});
