import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { findLastAtMost } from '#domain/numbers/search.js';

/** Levels of a stored run and of its index on the dates of the run, [T] each. */
export interface RunLevelSeries {
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly index: Float64Array;
}

export function readRunLevels(columns: RunColumns): RunLevelSeries {
  const days = columns.i32('days').slice();
  const indexDays = columns.i32('indexDays');
  const indexLevel = columns.f64('indexLevel');
  const index = Float64Array.from(days, (day) => indexLevel[Math.max(0, findLastAtMost(indexDays, day))]!);
  return { days, level: columns.f64('level').slice(), index };
}
