import { expect, test } from 'vitest';
import { useLargePages } from '#kernels/memory/large-pages.js';

const MIB = 2 ** 20;

test.each([1, 65_536, MIB, 9 * MIB + 8])('a request for large pages does not change %i bytes', (bytes) => {
  const memory = new SharedArrayBuffer(bytes);
  const values = new Uint8Array(memory);
  for (let i = 0; i < bytes; i += 997) values[i] = i % 251;
  useLargePages(memory);
  expect(values.every((value, i) => value === (i % 997 === 0 ? i % 251 : 0))).toBe(true);
  values[bytes - 1] = 7;
  expect(values[bytes - 1]).toBe(7);
});
