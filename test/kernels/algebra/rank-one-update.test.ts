import { expect, test } from 'vitest';
import { rankOneUpdate } from '#kernels/algebra/products.js';
import { KernelFault } from '#kernels/assert.js';

test('decays, adds and does not change the lower triangle', () => {
  const out = Float64Array.of(2, 4, 9, 6);
  rankOneUpdate(out, Float64Array.of(1, 3), { decay: 0.5, factor: 2 });
  expect([...out]).toEqual([1 + 2, 2 + 6, 9, 3 + 18]);
});

test('removes an added product', () => {
  const out = new Float64Array(4);
  rankOneUpdate(out, Float64Array.of(1, 3), { decay: 1, factor: 1 });
  rankOneUpdate(out, Float64Array.of(1, 3), { decay: 1, factor: -1 });
  expect([...out]).toEqual([0, 0, 0, 0]);
});

test('refuses a matrix of another order', () => {
  expect(() => rankOneUpdate(new Float64Array(3), new Float64Array(2), { decay: 1, factor: 1 })).toThrow(KernelFault);
});
