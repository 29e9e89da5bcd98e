import { expect, test } from 'vitest';
import { factoriseSemidefinite } from '#kernels/algebra/linear-systems.js';
import { createRandomPanel } from '../engines/random-matrices.js';

test.each([
  [6, 9, 6],
  [6, 3, 3],
])('a factor of order %i and rank at most %i multiplies to its matrix', (n, rows, rank) => {
  const x = createRandomPanel(rows, n, 3);
  const a = new Float64Array(n * n);
  for (let t = 0; t < rows; t++)
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) a[i * n + j]! += x[t * n + i]! * x[t * n + j]!;
  const factor = factoriseSemidefinite(a, n);
  expect(factor.rank).toBe(rank);
  const size = Math.max(...a);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) {
      let product = 0;
      for (let k = 0; k < n; k++) product += factor.lower[i * n + k]! * factor.lower[j * n + k]!;
      expect(Math.abs(product - a[i * n + j]!)).toBeLessThan(1e-13 * size);
    }
});

test('a matrix of zeros has a factor of rank 0', () => {
  expect(factoriseSemidefinite(new Float64Array(9), 3)).toEqual({ lower: new Float64Array(9), rank: 0 });
});
