import { expect, test } from 'vitest';
import { computeMedian, computeQuantile, findUpperMedian } from '#domain/base/numbers.js';

test('quantiles lie between the order statistics around them, as those of type 7', () => {
  const sortedValues = [1, 2, 4, 8];
  expect(computeQuantile(sortedValues, 0)).toBe(1);
  // Position 0.5 * 3 = 1.5: halfway between 2 and 4.
  expect(computeQuantile(sortedValues, 0.5)).toBe(3);
  // Position 0.9 * 3 = 2.7: seven tenths of the way from 4 to 8.
  expect(computeQuantile(sortedValues, 0.9)).toBeCloseTo(6.8, 12);
  expect(computeQuantile(sortedValues, 1)).toBe(8);
  expect(computeQuantile([], 0.5)).toBeNaN();
});

test('of an even number the median is the mean of the two in the middle, the upper one the larger', () => {
  const sample = [8, 1, 4, 2];
  expect([computeMedian(sample), findUpperMedian(sample)]).toEqual([3, 4]);
  expect([computeMedian([10, -3, 9]), findUpperMedian([10, -3, 9])]).toEqual([9, 9]);
  expect([computeMedian([]), findUpperMedian([])]).toEqual([NaN, NaN]);
  expect(sample).toEqual([8, 1, 4, 2]);
});
