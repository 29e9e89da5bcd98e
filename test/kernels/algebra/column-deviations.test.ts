import { expect, test } from 'vitest';
import { centreColumns, computeColumnDeviations } from '#kernels/algebra/columns.js';
import { KernelFault } from '#kernels/assert.js';

test('sums the squared deviations from the mean of each column, and does not change the panel', () => {
  const x = Float64Array.of(1, 2, 3, 6);
  const out = Float64Array.of(7, 7);
  computeColumnDeviations(x, out);
  expect([...out]).toEqual([2, 8]);
  expect([...x]).toEqual([1, 2, 3, 6]);
});

test('is bit-identical to centring by factors of 1', () => {
  const x = Float64Array.from({ length: 40 * 7 }, (_, k) => Math.sin(k * k + 1));
  const [squares, expected] = [new Float64Array(7), new Float64Array(7)];
  computeColumnDeviations(x, squares);
  centreColumns(x, { weights: undefined, factors: new Float64Array(40).fill(1) }, new Float64Array(7), expected);
  expect([...squares]).toEqual([...expected]);
});

test('refuses arrays that are no panel', () => {
  expect(() => computeColumnDeviations(new Float64Array(5), new Float64Array(2))).toThrow(KernelFault);
});
