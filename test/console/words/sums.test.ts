import { expect, test } from 'vitest';
import { sumByYear } from '#console/words/statistics.js';

test('sums begin again with every year, and a missing value adds nothing', () => {
  const dates = ['2023-12-28', '2023-12-29', '2024-01-02', '2024-01-03'];
  expect(sumByYear(dates, [1, null, 0.5, 2])).toEqual([1, 1, 0.5, 2.5]);
});
