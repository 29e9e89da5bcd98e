import { readRecord } from '#domain/backtest/run-file/record.js';
import type { Run } from '#domain/backtest/run.js';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { runToColumns } from '#domain/backtest/run-file/write.js';
import type { RunStamp } from '#views/provenance-json.js';
import { recordJson } from '#views/record-json.js';

/** The record of a run as it is served: from its columns. */
export function runRecordJson(run: Run, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const bytes = runToColumns(run, { contentHash: stamp.storeContentHash });
  return recordJson(readRecord(openColumns((start, end) => bytes.slice(start, end))), stamp);
}
