import { expect, test } from 'vitest';
import { roundDownScale, roundUpScale } from '#console/components/chart/series.js';

test('a scale of bars ends at a round value above the highest bar', () => {
  expect([0.0853, 0.05, 0.011, 3.2].map(roundUpScale)).toEqual([0.1, 0.05, 0.02, 4]);
});

test('a scale of drawdowns begins at a label below the largest one', () => {
  for (const [least, begin] of [
    [-0.3159, -0.4],
    [-0.11, -0.15],
    [-0.055, -0.06],
    [-0.6, -0.6],
  ] as const)
    expect(roundDownScale(least, 3)).toBeCloseTo(begin, 12);
});
