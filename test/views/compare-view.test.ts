import { expect, test } from 'vitest';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { dayFrom } from '#domain/days.js';
import { compareRuns } from '#views/compare-view.js';

const days = Int32Array.from(['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08'], dayFrom);
const level = Float64Array.of(100, 101, 102, 103, 104);

/** A run with nothing but days and levels. */
const run = { header: { run_id: 'RUN' }, i32: () => days, f64: () => level } as unknown as RunColumns; // all that is read

test('a benchmark that lacks dates of the window is told, one that has them all is not', () => {
  const whole = { names: ['RUN'], start: null, end: null };
  const late = { id: 'LATE', days: days.subarray(2), level: level.subarray(2) };
  const { cut, days: compared } = compareRuns([run], whole, late);
  expect([...compared]).toEqual([...days.subarray(2)]);
  expect(cut).toMatchObject({ code: 'WINDOW_CUT', severity: 'warning', path: 'benchmark' });
  expect(cut!.message).toContain('LATE has 3 of the 5 dates');
  expect(cut!.message).toContain('2024-01-04 to 2024-01-08, without it 2024-01-02 to 2024-01-08');
  expect(compareRuns([run], { ...whole, start: '2024-01-04' }, late).cut).toBeNull();
  expect(compareRuns([run], whole, null).cut).toBeNull();
});
