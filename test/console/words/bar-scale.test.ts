import { expect, test } from 'vitest';
import { roundUpScale } from '#console/components/chart/series.js';

test('a scale of bars ends at a round value above the highest bar', () => {
  expect([0.0853, 0.05, 0.011, 3.2].map(roundUpScale)).toEqual([0.1, 0.05, 0.02, 4]);
});
