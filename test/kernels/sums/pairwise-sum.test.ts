import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { computePairwiseSum } from '#kernels/sums/sums.js';

test('sums zero, one and a few values', () => {
  expect(computePairwiseSum(new Float64Array(0))).toBe(0);
  expect(computePairwiseSum(Float64Array.of(3))).toBe(3);
  expect(computePairwiseSum(Float64Array.of(1, 2, 3, 4), 1, 3)).toBe(5);
});

test('is exact where plain summation loses small terms', () => {
  const tenths = new Float64Array(1_000_000).fill(0.1);
  expect(Math.abs(computePairwiseSum(tenths) - 100_000)).toBeLessThanOrEqual(1e-9);
});

test('adds whole numbers exactly, in any length', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1e6, max: 1e6 }), { maxLength: 2000 }), (terms) => {
      expect(computePairwiseSum(Float64Array.from(terms))).toBe(terms.reduce((total, term) => total + term, 0));
    }),
  );
});

test('refuses a range outside the values', () => {
  expect(() => computePairwiseSum(new Float64Array(3), 1, 4)).toThrow(KernelFault);
  expect(() => computePairwiseSum(new Float64Array(3), 2, 1)).toThrow(KernelFault);
});
