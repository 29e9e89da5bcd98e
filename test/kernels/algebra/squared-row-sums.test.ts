import { expect, test } from 'vitest';
import { sumSquaredRowSums } from '#kernels/algebra/columns.js';
import { KernelFault } from '#kernels/assert.js';

test('adds up the squares of weighted rows', () => {
  expect(sumSquaredRowSums(Float64Array.of(1, 2, 3, 4), Float64Array.of(1, 0.5))).toBe(2 ** 2 + 5 ** 2);
  expect(sumSquaredRowSums(new Float64Array(0), Float64Array.of(1))).toBe(0);
});

test('refuses arrays that are no panel', () => {
  expect(() => sumSquaredRowSums(new Float64Array(5), new Float64Array(2))).toThrow(KernelFault);
  expect(() => sumSquaredRowSums(new Float64Array(0), new Float64Array(0))).toThrow(KernelFault);
});
