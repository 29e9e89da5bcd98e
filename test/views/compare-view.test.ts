import { expect, test } from 'vitest';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { parseValidDay } from '#domain/time/days.js';
import { compareRuns, type ComparedLevels } from '#views/compare-view.js';

const days = Int32Array.from(['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08'], parseValidDay);
const level = Float64Array.of(100, 101, 102, 103, 104);

/** A run with only its days and levels. */
const run = {
  header: { run_id: 'RUN', variant: 'total', currency: 'USD' },
  i32: () => days,
  f64: () => level,
} as unknown as RunColumns; // only the members that the view reads

/** A benchmark with the terms of the run. */
const OTHER_INDEX = { id: 'OTHER', days, level, variant: 'total', currency: 'USD' } as const;

test('a benchmark that lacks dates of the window is reported, a complete one is not', () => {
  const wholeQuery = { names: ['RUN'], start: null, end: null };
  const lateIndex = { ...OTHER_INDEX, id: 'LATE', days: days.subarray(2), level: level.subarray(2) };
  const { findings, days: compared } = compareRuns([run], wholeQuery, lateIndex);
  expect([...compared]).toEqual([...days.subarray(2)]);
  expect(findings).toMatchObject([{ code: 'WINDOW_CUT', severity: 'warning', path: 'benchmark' }]);
  expect(findings[0]!.message).toContain('LATE has 3 of the 5 dates');
  expect(findings[0]!.message).toContain(
    'covers 2024-01-04 to 2024-01-08; without the benchmark it would cover 2024-01-02 to 2024-01-08',
  );
  expect(compareRuns([run], { ...wholeQuery, start: '2024-01-04' }, lateIndex).findings).toEqual([]);
  expect(compareRuns([run], wholeQuery, null).findings).toEqual([]);
});

test('levels that are not comparable are reported with their types, raw levels of unknown type are not', () => {
  const wholeQuery = { names: ['RUN'], start: null, end: null };
  const listDifferences = (terms: Partial<ComparedLevels>) =>
    compareRuns([run], wholeQuery, { ...OTHER_INDEX, ...terms }).findings;
  expect(listDifferences({})).toEqual([]);
  expect(listDifferences({ variant: 'raw' })).toEqual([]);
  expect(listDifferences({ variant: 'price' })).toMatchObject([
    {
      code: 'RETURNS_DIFFER',
      path: 'ids',
      message: 'The levels have different return variants: RUN total, OTHER price.',
    },
  ]);
  expect(listDifferences({ currency: 'EUR' })).toMatchObject([
    { code: 'CURRENCIES_DIFFER', path: 'ids', message: 'The levels are in different currencies: RUN USD, OTHER EUR.' },
  ]);
});
