import { expect, test } from 'vitest';
import {
  compareWith,
  computeCalendarYears,
  computeDrawdowns,
  computeReturns,
  computeRolling,
  computeValueAtRisk,
  countOverlap,
} from '#console/words/statistics.js';

const OWN_LEVELS = [100, 102, 99.96, 104.958, 103.90842];
const REFERENCE = [100, 101, 98.98, 101.9494, 102.968894];

test('drawdowns are relative to the earlier maximum level, and years begin with the last level of the previous year', () => {
  expect(computeDrawdowns([100, 120, 90, null, 132])).toEqual([0, 0, -0.25, null, 0]);
  const years = computeCalendarYears(['2023-12-28', '2023-12-29', '2024-06-28', '2024-12-31'], [100, 110, 99, 121]);
  expect([...years].map(([year, value]) => [year, value.toFixed(12)])).toEqual([
    ['2023', '0.100000000000'],
    ['2024', '0.100000000000'],
  ]);
});

test('relative measures agree with their definitions', () => {
  // The returns are 2, -2, 5, -1 % and 1, -2, 3, 1 %. The means are 1 and 0.75. The deviations are 1, -3, 4, -2 and
  // 0.25, -2.75, 2.25, 0.25.
  expect(computeReturns(OWN_LEVELS).map((value) => Number(value!.toFixed(10)))).toEqual([0.02, -0.02, 0.05, -0.01]);
  const view = compareWith(OWN_LEVELS, REFERENCE, 252);
  const covariance = (0.25 + 8.25 + 9 - 0.5) / 3;
  const [ownVariance, referenceVariance] = [(1 + 9 + 16 + 4) / 3, (0.0625 + 7.5625 + 5.0625 + 0.0625) / 3];
  expect(view.beta).toBeCloseTo(covariance / referenceVariance, 10);
  expect(view.correlation).toBeCloseTo(covariance / Math.sqrt(ownVariance * referenceVariance), 10);
  // Differences 1, 0, 2, -2 %: mean 0.25, squares 0.5625, 0.0625, 3.0625, 5.0625.
  expect(view.trackingErrorAnnual).toBeCloseTo(Math.sqrt((8.75e-4 / 3) * 252), 10);
  expect(view.upCapture).toBeCloseTo(((1.02 * 1.05 * 0.99) ** (1 / 3) - 1) / ((1.01 * 1.03 * 1.01) ** (1 / 3) - 1), 10);
  expect(view.downCapture).toBeCloseTo(1, 10);
});

test('a rolling measure has no value before its window is full, and the last is that of the whole window', () => {
  const terms = { reference: REFERENCE, window: 4, sessions: 252 };
  expect(computeRolling('beta', OWN_LEVELS, terms)).toEqual([
    null,
    null,
    null,
    null,
    compareWith(OWN_LEVELS, REFERENCE, 252).beta,
  ]);
  expect(computeRolling('volatility', OWN_LEVELS, terms).at(-1)).toBeCloseTo(Math.sqrt((30e-4 / 3) * 252), 10);
});

test('the overlap of portfolios is the sum of the smaller weights of each security', () => {
  expect(
    countOverlap(
      new Map([
        ['A', 0.6],
        ['B', 0.4],
      ]),
      new Map([
        ['B', 0.3],
        ['C', 0.7],
      ]),
    ),
  ).toBe(0.3);
});

test('the value at risk is the smallest loss among the worst twentieth of the sessions', () => {
  const returns = Array.from({ length: 40 }, (_, k) => (k - 20) / 1000);
  expect(computeValueAtRisk([...returns, null])).toBeCloseTo(0.019, 12);
  expect(computeValueAtRisk([null])).toBeNull();
});
