import { openColumns, type RunColumns } from '#domain/backtest/run-file/read.js';
import { readRebalances, readRecord } from '#domain/backtest/run-file/record.js';
import { createRunColumns } from '#domain/backtest/run-file/write.js';
import { assertMeasured, summariseRun } from '#domain/backtest/run-summary.js';
import type { Run } from '#domain/backtest/run.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { RunStamp } from '#views/provenance-json.js';
import { encodeRecord } from '#views/record-json.js';
import { encodeOverview, encodeResult } from '#views/run-json.js';

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

/** Returns the result for stored columns. */
export function formatResult(columns: RunColumns, plan: BacktestPlan, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  return encodeResult({ run: summariseRun(columns, plan), stamp, rebalances: readRebalances(columns) });
}

/** Returns the overview for stored columns. */
export function formatOverview(columns: RunColumns, plan: BacktestPlan): Uint8Array<ArrayBuffer> {
  return encodeOverview(summariseRun(columns, plan));
}
