import { expect, test } from 'vitest';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { parseValidDay } from '#domain/base/time.js';
import type { CompareView } from '#contract/analytics/analytics.js';
import { type ComparedLevels, compareRuns, writeComparison } from '#views/comparison.js';
import { createJsonWriter } from '#views/json/writer.js';

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

function listEntries(benchmark: ComparedLevels | null): CompareView['entries'] {
  const json = createJsonWriter();
  const comparison = compareRuns([run], { names: ['RUN'], start: null, end: null }, benchmark);
  const states = [{ run_id: 'abc', index_version: 1, store_id: 'market', stale: null }];
  writeComparison(json, comparison, { states, findings: [] });
  return (JSON.parse(new TextDecoder().decode(json.bytes())) as CompareView).entries;
}

test('a run has figures relative to the benchmark, the benchmark itself and a run alone have none', () => {
  const benchmarkLevel = Float64Array.of(100, 102, 101, 104, 102);
  const [own, benchmark] = listEntries({ ...OTHER_INDEX, level: benchmarkLevel });
  const differences = [...level]
    .slice(1)
    .map((value, t) => value / level[t]! - benchmarkLevel[t + 1]! / benchmarkLevel[t]!);
  const mean = differences.reduce((sum, value) => sum + value, 0) / differences.length;
  const variance = differences.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (differences.length - 1);
  expect(own!.annualised_return).toBeCloseTo(1.04 ** (252 / 4) - 1, 10);
  expect(own!.benchmark_statistics).toMatchObject({
    benchmark_return: expect.closeTo(0.02, 12) as number,
    excess_return: expect.closeTo(0.02, 12) as number,
    tracking_error: expect.closeTo(Math.sqrt(252 * variance), 12) as number,
  });
  expect(benchmark!.benchmark_statistics).toBeNull();
  expect(listEntries(null).map(({ benchmark_statistics: relative }) => relative)).toEqual([null]);
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

test('runs on different calendars are annualised by the sessions of each, not by their common dates', () => {
  const holiday = 2;
  const otherRun = {
    header: { run_id: 'OTHER', variant: 'total', currency: 'USD' },
    i32: () => days.filter((_, t) => t !== holiday),
    f64: () => level.filter((_, t) => t !== holiday),
  } as unknown as RunColumns; // only the members that the view reads
  const json = createJsonWriter();
  const comparison = compareRuns([run, otherRun], { names: ['RUN', 'OTHER'], start: null, end: null }, null);
  const state = { run_id: 'abc', index_version: 1, store_id: 'market', stale: null };
  writeComparison(json, comparison, { states: [state, state], findings: [] });
  const { entries } = JSON.parse(new TextDecoder().decode(json.bytes())) as CompareView;
  expect(entries.map(({ periods_per_year: periods }) => periods)).toEqual([(252 * 3) / 4, 252]);
  expect(entries[0]!.annualised_return).toBeCloseTo(1.04 ** (252 / 4) - 1, 10);
  expect(entries[1]!.annualised_return).toBeCloseTo(1.04 ** (252 / 3) - 1, 10);
});
