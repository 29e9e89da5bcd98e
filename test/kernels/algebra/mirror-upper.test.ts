import { expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { mirrorUpper } from '#kernels/algebra/products.js';

test.each([0, 1, 2, 31, 32, 33, 65, 100])(
  'a matrix of order %i has the same values below its diagonal as above',
  (n) => {
    const a = Float64Array.from({ length: n * n }, (_, i) => (i % n < Math.floor(i / n) ? Number.NaN : i));
    mirrorUpper(a, n);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) expect(a[i * n + j]).toBe(Math.min(i, j) * n + Math.max(i, j));
  },
);

test('refuses a matrix of another order', () => {
  expect(() => mirrorUpper(new Float64Array(5), 2)).toThrow(KernelFault);
});
