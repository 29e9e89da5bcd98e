import { expect, test } from 'vitest';
import { createJsonWriter } from '#views/json-writer.js';
import { ALONE_BYTES, emptyMemory } from '#kernels/memory/paged-memory.js';
import { createRunMemory, createTextMemory } from '#workers/output/run-memory.js';

const NONE = { from: 0, to: 0 };

/** Takes memory, writes all over it and gives it back. */
function used(memory: ReturnType<typeof createRunMemory>, bytes: number): SharedArrayBuffer {
  const buffer = memory.take(bytes, NONE);
  new Uint8Array(buffer).fill(255);
  memory.giveBack();
  return buffer;
}

const areZeros = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

const isZero = (buffer: SharedArrayBuffer): boolean => areZeros(new Uint8Array(buffer));

test('the memory of the run before is taken by one that fits, and holds nothing of it', () => {
  const memory = createRunMemory();
  const first = used(memory, 1000);
  const second = memory.take(900, NONE);
  expect(second).toBe(first);
  expect(isZero(second)).toBe(true);
});

test('a range that may hold anything is not cleared, all else is', () => {
  const memory = createRunMemory();
  used(memory, 1001);
  const bytes = new Uint8Array(memory.take(1000, { from: 80, to: 160 }));
  expect(bytes.subarray(80, 160).every((byte) => byte === 255)).toBe(true);
  expect(areZeros(bytes.subarray(0, 80)) && areZeros(bytes.subarray(160))).toBe(true);
});

test('memory that was not given back is not taken again: a run that failed may be read still', () => {
  const memory = createRunMemory();
  const first = memory.take(1000, NONE);
  expect(memory.take(1000, NONE)).not.toBe(first);
});

test('memory is never smaller than asked for, and not kept beyond the limit', () => {
  const memory = createRunMemory(1000);
  const small = used(memory, 500);
  const large = used(memory, 2000);
  expect(large).not.toBe(small);
  expect(large.byteLength).toBe(2000);
  expect(memory.take(100, NONE)).not.toBe(large);
});

test('of memory beyond the limit the place is kept, with nothing in it', ({ skip }) => {
  if (!emptyMemory(new SharedArrayBuffer(ALONE_BYTES)))
    skip('memory is emptied on Linux with the optional package koffi');
  const memory = createRunMemory(1000);
  const first = used(memory, ALONE_BYTES);
  const second = memory.take(ALONE_BYTES - 8, NONE);
  expect(second).toBe(first);
  expect(isZero(second)).toBe(true);
});

test('texts of one run lie beside each other in the memory of the run before, each as it is in memory of its own', () => {
  const memory = createTextMemory();
  const texts = (): Uint8Array<ArrayBuffer>[] =>
    [0.1, 0.25, 3].map((value) => {
      const json = createJsonWriter(8, memory.take); // Too little for any of them: each moves as it grows.
      json.numbers(new Float64Array(1000).fill(value));
      return json.bytes();
    });
  const written = (bytes: readonly Uint8Array[]): string[] => bytes.map((text) => new TextDecoder().decode(text));
  const expected = ['0.1', '0.25', '3'].map((value) => Array.from({ length: 1000 }, () => value).join(','));
  expect(written(texts())).toEqual(expected);
  memory.giveBack();
  const again = texts();
  expect(written(again)).toEqual(expected);
  expect(new Set(again.map(({ buffer }) => buffer)).size).toBe(1);
  memory.giveBack();
  expect(texts()[0]!.buffer).toBe(again[0]!.buffer);
});

test('room for texts is not kept beyond the limit, and what was not given back is not taken again', () => {
  const memory = createTextMemory(1000);
  const large = memory.take(2000);
  memory.giveBack();
  expect(memory.take(500).buffer).not.toBe(large.buffer);
  memory.giveBack();
  const first = memory.take(300);
  const second = memory.take(300);
  expect(second.buffer === first.buffer && second.byteOffset < first.byteOffset + first.length).toBe(false);
});
