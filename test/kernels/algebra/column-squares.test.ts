import { expect, test } from 'vitest';
import { columnSquares } from '#kernels/algebra/column-squares.js';
import { KernelFault } from '#kernels/assert.js';

test('sums the squares of each column', () => {
  const out = Float64Array.of(7, 7);
  columnSquares(Float64Array.of(1, 2, 3, 4, -5, 6), out);
  expect([...out]).toEqual([1 + 9 + 25, 4 + 16 + 36]);
});

test('refuses what is no panel', () => {
  expect(() => columnSquares(new Float64Array(5), new Float64Array(2))).toThrow(KernelFault);
  expect(() => columnSquares(new Float64Array(0), new Float64Array(0))).toThrow(KernelFault);
});
