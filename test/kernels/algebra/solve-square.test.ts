import { expect, test } from 'vitest';
import { solveSquare } from '#kernels/algebra/linear-systems.js';
import { seeded } from '../../seeded.js';

test.each([1, 2, 7, 40])('the solutions of a system of order %i reproduce its right sides', (n) => {
  const random = seeded(n);
  const a = Float64Array.from({ length: n * n }, () => random() - 0.5);
  const expected = Float64Array.from({ length: 2 * n }, () => random() - 0.5);
  const b = new Float64Array(2 * n);
  for (let r = 0; r < n; r++)
    for (let c = 0; c < n; c++) for (let k = 0; k < 2; k++) b[2 * r + k]! += a[r * n + c]! * expected[2 * c + k]!;
  expect(solveSquare(a.slice(), n, b, 2)).toBe(true);
  expect(Math.max(...b.map((value, e) => Math.abs(value - expected[e]!)))).toBeLessThan(1e-9);
});

test('rows are permuted if the first pivot is zero', () => {
  const b = Float64Array.of(3, 5);
  expect(solveSquare(Float64Array.of(0, 1, 2, 0), 2, b)).toBe(true);
  expect([...b]).toEqual([2.5, 3]);
});

test('a singular system is reported', () => {
  expect(solveSquare(Float64Array.of(1, 2, 2, 4), 2, Float64Array.of(1, 2))).toBe(false);
});
