import { expect, test } from 'vitest';
import {
  compareWith,
  computeCalendarYears,
  computeDrawdowns,
  computeReturns,
  computeRolling,
  computeValueAtRisk,
  countOverlap,
  listHints,
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

/** Forty levels that grow by alternating returns. */
const OWN = (() => {
  const dates = Array.from({ length: 40 }, (_, k) => new Date(Date.UTC(2024, 0, 1 + k)).toISOString().slice(0, 10));
  let level = 1000;
  return { index: dates, data: dates.map((_, k) => (level *= k % 2 === 0 ? 1.01 : 0.995)) };
})();

/** Returns the texts of the hints on levels. */
const hint = (levels: readonly { readonly date: string; readonly value: number }[], written: number): string[] =>
  listHints({ levels, written }, OWN).map(({ text }) => text);

const levelsOf = (change: (value: number, k: number) => number) =>
  OWN.index.map((date, k) => ({ date, value: Number(change(OWN.data[k]!, k).toFixed(2)) }));

test('levels of the run have no hint; those of another index have the correlation of their returns', () => {
  expect(
    hint(
      levelsOf((value) => value),
      2,
    ),
  ).toEqual([]);
  // Levels with the inverse of each return move opposite to the run.
  const [text, ...others] = hint(
    levelsOf((value) => 1e6 / value),
    2,
  );
  expect(others).toEqual([]);
  expect(text).toMatch(/0 of 39.*correlation of the returns is -1\.0000: most likely another index/);
  // A drift on every session keeps the correlation.
  const [drift] = hint(
    levelsOf((value, k) => value * 1.001 ** k),
    2,
  );
  expect(drift).toMatch(/0 of 39.*is 1\.0000: most likely another return variant or currency/);
});

test('decimals without information and too few common sessions have a hint', () => {
  const written = hint(
    levelsOf((value) => value),
    6,
  );
  expect(written).toEqual([expect.stringContaining('written with 6 decimals, but their values carry 2')]);
  // 17949.36914 and 17929.99023 are float32 numbers of 17949.37 and 17929.99.
  const stored = [
    { date: '2024-01-01', value: 17949.36914 },
    { date: '2030-01-01', value: 17929.99023 },
  ];
  expect(hint(stored, 5)).toEqual([
    expect.stringContaining('17949.36914 is 17949.37'),
    expect.stringContaining('Only one of the 2 dates'),
  ]);
});
