import { expect, test } from 'vitest';
import { SEPARATE_BYTES, clearMemory } from '#kernels/memory/paged-memory.js';
import { createRunMemory } from '#workers/output/task-outputs.js';

const EMPTY_RANGE = { from: 0, to: 0 };

/** Allocates memory, fills it and releases it. */
function useMemory(memory: ReturnType<typeof createRunMemory>, bytes: number): SharedArrayBuffer {
  const buffer = memory.take(bytes, EMPTY_RANGE);
  new Uint8Array(buffer).fill(255);
  memory.giveBack();
  return buffer;
}

const areZeros = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

const isZero = (buffer: SharedArrayBuffer): boolean => areZeros(new Uint8Array(buffer));

test('the memory of the previous run is reused by a run that fits, and contains none of its data', () => {
  const memory = createRunMemory();
  const first = useMemory(memory, 1000);
  const second = memory.take(900, EMPTY_RANGE);
  expect(second).toBe(first);
  expect(isZero(second)).toBe(true);
});

test('only a range that may contain anything is not cleared', () => {
  const memory = createRunMemory();
  useMemory(memory, 1001);
  const bytes = new Uint8Array(memory.take(1000, { from: 80, to: 160 }));
  expect(bytes.subarray(80, 160).every((byte) => byte === 255)).toBe(true);
  expect(areZeros(bytes.subarray(0, 80)) && areZeros(bytes.subarray(160))).toBe(true);
});

test('memory that was not released is not reused, because a failed run may still be read', () => {
  const memory = createRunMemory();
  const first = memory.take(1000, EMPTY_RANGE);
  expect(memory.take(1000, EMPTY_RANGE)).not.toBe(first);
});

test('memory is never smaller than requested, and not kept beyond the limit', () => {
  const memory = createRunMemory(1000);
  const smallBuffer = useMemory(memory, 500);
  const large = useMemory(memory, 2000);
  expect(large).not.toBe(smallBuffer);
  expect(large.byteLength).toBe(2000);
  expect(memory.take(100, EMPTY_RANGE)).not.toBe(large);
});

test('of memory beyond the limit the address range is kept, empty', ({ skip }) => {
  if (!clearMemory(new SharedArrayBuffer(SEPARATE_BYTES)))
    skip('memory is emptied on Linux with the optional package koffi');
  const memory = createRunMemory(1000);
  const first = useMemory(memory, SEPARATE_BYTES);
  const second = memory.take(SEPARATE_BYTES - 8, EMPTY_RANGE);
  expect(second).toBe(first);
  expect(isZero(second)).toBe(true);
});

test('released memory is not reused', () => {
  const memory = createRunMemory();
  const first = useMemory(memory, 1000);
  memory.release();
  expect(memory.take(1000, EMPTY_RANGE)).not.toBe(first);
});
