import { expect, test } from 'vitest';
import { square } from '#kernels/algebra/products.js';
import { KernelFault } from '#kernels/assert.js';

test('squares in place or elsewhere', () => {
  const x = Float64Array.of(-2, 0.5, 0);
  const out = new Float64Array(3);
  square(x, out);
  expect([...out]).toEqual([4, 0.25, 0]);
  square(x, x);
  expect([...x]).toEqual([4, 0.25, 0]);
});

test('refuses a result of another length', () => {
  expect(() => square(new Float64Array(2), new Float64Array(3))).toThrow(KernelFault);
});
