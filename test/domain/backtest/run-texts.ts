import {
  createRunColumns,
  openColumns,
  readRebalances,
  readRecord,
  type RunColumns,
} from '#domain/backtest/run-file/columns.js';
import { assertMeasured, summariseRun } from '#domain/backtest/summary.js';
import type { Run } from '#domain/backtest/run.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { encodeOverview, type RunStamp, writeResult, encodeRecord } from '#views/json/record.js';
import { createJsonWriter } from '#views/json/writer.js';

/** Returns the columns of a run computed as a whole. */
function createColumns(run: Run, contentHash = 's'): RunColumns {
  assertMeasured({ ...run, relative: run.benchmark && run.benchmark.relative });
  const bytes = createRunColumns(run, { contentHash });
  return openColumns((start, end) => bytes.slice(start, end));
}

/** Returns the record that the service sends for a run. It is rendered from the columns of the run. */
export function runRecordJson(run: Run, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  return encodeRecord(readRecord(createColumns(run, stamp.storeContentHash)), stamp);
}

/** Returns the result that the service sends for a run. */
export function runResultJson(run: Run, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  return formatResult(createColumns(run), run.plan, stamp);
}

/** Returns the overview that the service sends for a run. */
export function runOverviewJson(run: Run): Uint8Array<ArrayBuffer> {
  return formatOverview(createColumns(run), run.plan);
}

export function formatResult(columns: RunColumns, plan: BacktestPlan, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter();
  writeResult(json, { run: summariseRun(columns, plan), stamp, rebalances: readRebalances(columns) });
  return json.bytes();
}

export function formatOverview(columns: RunColumns, plan: BacktestPlan): Uint8Array<ArrayBuffer> {
  return encodeOverview(summariseRun(columns, plan));
}
