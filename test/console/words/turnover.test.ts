import { expect, test } from 'vitest';
import { computeYearlySum } from '#console/words/statistics.js';

test('turnover per year is measured between the first and the last rebalance, not from the start of the data', () => {
  const rebalances = [
    { date: '2020-01-01', turnover: null },
    { date: '2021-01-01', turnover: 0.1 },
    { date: '2022-01-01', turnover: 0.3 },
  ];
  // 731 days are two years of 365.25 days and half a day.
  expect(computeYearlySum(rebalances, ({ turnover }) => turnover)).toBeCloseTo((0.4 * 365.25) / 731, 12);
  expect(computeYearlySum(rebalances.slice(0, 1), ({ turnover }) => turnover)).toBeNull();
});
