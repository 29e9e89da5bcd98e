import { expect, test } from 'vitest';
import { scaleRows } from '#kernels/algebra/scale-rows.js';
import { symmetricRankK } from '#kernels/algebra/symmetric-rank-k.js';
import { KernelFault } from '#kernels/assert.js';

test('makes the product of a panel with itself weigh its rows', () => {
  const x = Float64Array.of(1, 2, 3, 4);
  scaleRows(x, 2, Float64Array.of(4, 9));
  const product = new Float64Array(4);
  symmetricRankK(x, 2, product);
  expect([...product]).toEqual([4 * 1 + 9 * 9, 4 * 2 + 9 * 12, 4 * 2 + 9 * 12, 4 * 4 + 9 * 16]);
});

test('refuses a factor too few', () => {
  expect(() => scaleRows(new Float64Array(4), 2, new Float64Array(1))).toThrow(KernelFault);
});
