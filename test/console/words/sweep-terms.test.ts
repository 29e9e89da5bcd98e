import { expect, test } from 'vitest';
import type { SweepView } from '#clients/typescript/divisor.js';
import {
  canTestChoice,
  countVariants,
  findDates,
  formatBacktests,
  getCosts,
  nameVariant,
  createReferenceLine,
  createScale,
  getColourAt,
  selectDifferentTerms,
} from '#console/pages/sweeps/variants.js';

test('the terms of backtests are one line of dates, costs and returns', () => {
  const document = { pipeline: { treatment: { dividends: 'net' } } } as unknown as Parameters<
    typeof formatBacktests
  >[0]; // the line states only the treatment of dividends
  const period = { start: '2015-01-02', end: '2024-12-30' };
  expect(formatBacktests(document, { transaction_cost_bps: 25 }, period)).toBe(
    '2015-01-02 to 2024-12-30 · 25 bp · net total return',
  );
  expect(formatBacktests(document, {}, { ...period, end: null })).toBe(
    '2015-01-02 to the last day of the data · no costs · net total return',
  );
});

test('the index has the same terms as a sweep if absent costs equal no costs, whatever the dates and the benchmark', () => {
  expect(selectDifferentTerms({ start: '2015-01-02', benchmark: 'BROAD' }, { transaction_cost_bps: 0 })).toEqual({});
  expect(selectDifferentTerms({ transaction_cost_bps: 25 }, {})).toEqual({ transaction_cost_bps: 25 });
  expect(selectDifferentTerms({}, { transaction_cost_bps: 25 })).toEqual({ transaction_cost_bps: 0 });
});

test('the index is 100 on the first date of a sweep, and is omitted if it has no level there', () => {
  const level = { index: ['2020-01-02', '2020-01-03', '2020-01-06'], data: [50, 80, 100] };
  const draw = (dates: readonly string[]) => createReferenceLine(dates, { label: 'CORE', level } as never);
  expect(draw(['2020-01-03', '2020-01-06', '2020-01-07'])[0]!.values).toEqual([100, 125, null]);
  expect(draw(['2019-12-31', '2020-01-02'])).toEqual([]);
});

test('the variants and the costs of a sweep follow from its request', () => {
  const COSTS = '/request/transaction_cost_bps';
  const grid = { grid: { '/a': [1, 2], '/b': [1, 2, 3] }, request: { transaction_cost_bps: 5 } };
  expect([countVariants(grid), getCosts(grid)]).toEqual([6, 5]);
  const patches = { grid: null, patches: [{ [COSTS]: 5 }, { '/a': 1 }], request: {} };
  expect([countVariants(patches), getCosts(patches)]).toEqual([2, null]);
});

test('a variant is named by its values, and the dates of a sweep are those of all its variants', () => {
  const labels = (pointer: string) => ({ label: pointer, unit: pointer === '/cap' ? 'fraction' : 'securities' });
  expect(nameVariant({ '/count': 20, '/cap': 0.06 }, labels)).toBe('20 securities, 6%');
  const rows = [
    { start: '2016-01-04', end: '2024-12-30' },
    { start: null, end: null },
    { start: '2015-01-02', end: '2023-12-29' },
  ] as unknown as SweepView['rows']; // only the dates are read
  expect(findDates({ rows })).toEqual({ start: '2015-01-02', end: '2024-12-30' });
  expect(findDates({ rows: rows.slice(1, 2) })).toBeNull();
});

test('the choice of a sweep is tested by default if its period is longer than the folds need', () => {
  const isTested = (end: string | null) => canTestChoice({ start: '2024-01-02', end });
  expect([isTested('2024-03-01'), isTested('2024-06-28'), isTested(null)]).toEqual([false, true, true]);
});

test('colours of a map diverge from the median, also if low values are better', () => {
  const readColours = (isLowBetter: boolean) =>
    [1, 2, 4, 6, 8].map((value) => {
      const [, series, strength] = /series-(\d)\) (\d+)%/.exec(
        getColourAt(value, createScale([1, 4, 8], isLowBetter)),
      )!;
      return `${series} ${strength}`;
    });
  expect(readColours(false)).toEqual(['2 55', '2 37', '1 0', '1 28', '1 55']);
  expect(readColours(true)).toEqual(['1 55', '1 37', '1 0', '2 28', '2 55']);
});
