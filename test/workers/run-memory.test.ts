import { expect, test } from 'vitest';
import { createRunMemory } from '#workers/run-memory.js';

/** Takes memory, writes all over it and gives it back. */
function used(memory: ReturnType<typeof createRunMemory>, bytes: number): SharedArrayBuffer {
  const buffer = memory.take(bytes);
  new Uint8Array(buffer).fill(255);
  memory.giveBack();
  return buffer;
}

const isZero = (buffer: SharedArrayBuffer): boolean => new Uint8Array(buffer).every((byte) => byte === 0);

test('the memory of the run before is taken by one that fits, and holds nothing of it', () => {
  const memory = createRunMemory();
  const first = used(memory, 1000);
  const second = memory.take(900);
  expect(second).toBe(first);
  expect(isZero(second)).toBe(true);
});

test('memory that was not given back is not taken again: a run that failed may be read still', () => {
  const memory = createRunMemory();
  const first = memory.take(1000);
  expect(memory.take(1000)).not.toBe(first);
});

test('memory is never smaller than asked for, and not kept beyond the limit', () => {
  const memory = createRunMemory(1000);
  const small = used(memory, 500);
  const large = used(memory, 2000);
  expect(large).not.toBe(small);
  expect(large.byteLength).toBe(2000);
  expect(memory.take(100)).not.toBe(large);
});
