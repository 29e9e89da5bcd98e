import { rollingRisk } from '#domain/analytics/rolling-risk.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { lastAtMost } from '#domain/search.js';
import type { Task } from '#jobs/tasks.js';
import { createJsonWriter } from '#views/json-writer.js';
import { writeRollingRisk } from '#views/rolling-risk-view.js';
import { outputBytes } from './hand-over.js';
import { withRunFile } from './run-file.js';

/** Bytes of a row: a date and five numbers. */
const ROW_BYTES = 120;

/** A RollingRiskView of a stored run as JSON. */
export const rollingRiskOfRun: Task<'rolling-risk'> = ({ columns, runId, memory }) => {
  const { days, level, index } = withRunFile(columns, readLevels);
  const json = createJsonWriter(ROW_BYTES * days.length);
  writeRollingRisk(json, { runId, memory, days, risk: rollingRisk(level, index, memory) });
  return outputBytes(json.bytes());
};

/** Levels of the run and of its index on the run's dates. */
function readLevels(run: RunColumns): { readonly days: Int32Array; readonly level: Float64Array; readonly index: Float64Array } {
  const days = run.i32('days').slice();
  const indexDays = run.i32('indexDays');
  const indexLevel = run.f64('indexLevel');
  const index = Float64Array.from(days, (day) => indexLevel[Math.max(0, lastAtMost(indexDays, day))]!);
  return { days, level: run.f64('level').slice(), index };
}
