import { readFileSync } from 'node:fs';
import { findFirstDifference, type RunDifference } from '#domain/backtest/run-file/compare.js';
import { PRICES_NAME } from '#domain/backtest/run-file/separate-prices.js';
import type { RunFiles } from '#domain/backtest/run-file/write.js';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { allocateRetainedMemory } from '#base/memory/retained-memory.js';
import type { RangeReader } from '#domain/backtest/run-file/segments.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Task } from '#jobs/tasks.js';
import { joinBytes } from '#base/memory/produced-bytes.js';
import { createJsonWriter } from '#views/json-writer.js';
import { createReplayView } from '#views/replay-view.js';
import { runForDataset, createStamp } from './backtest.js';
import { runOnEngine } from '../input/numerics.js';
import { resolveSibling, useRunFile } from '../run-files/run-file.js';
import { copyOutput, writeOutputs } from '../output/task-outputs.js';

/**
 * Computes the stored run again with the same engine operations, so that equal inputs give equal columns. The result is
 * a ReplayView as JSON.
 */
export const replay: Task<'replay'> = async (input, control) => {
  const view = await runOnEngine((engine) => {
    const { stored, plan, engineVersion, definitionChanged } = input;
    const { run: _, ...files } = runForDataset(engine, input, control);
    const { runHash, storeContentHash } = createStamp(input);
    const json = createJsonWriter();
    json.value(
      createReplayView({
        runId: plan.runId,
        stored,
        replayed: { runHash, engineVersion, storeContentHash },
        definitionChanged,
        difference: findDifference(input.columns, files),
      }),
    );
    return copyOutput(json.bytes());
  });
  return writeOutputs(input.outputs, { view });
};

function findDifference(path: string, { columns, prices: separatePrices }: RunFiles): RunDifference | null {
  const prices =
    separatePrices === null ? undefined : joinBytes(separatePrices, allocateRetainedMemory(separatePrices.length)); // the prices of many securities are on disk
  const areSame =
    isEqual(readStored(path), columns) &&
    (prices === undefined || isEqual(readStored(resolveSibling(path, PRICES_NAME)), prices));
  if (areSame) return null;
  // The columns of an extended run have another layout.
  const openRange =
    (bytes: Uint8Array): RangeReader =>
    (start, end) =>
      bytes.slice(start, end);
  return useRunFile(path, (stored) =>
    findFirstDifference(
      stored,
      openColumns(openRange(columns), () => openRange(prices!)), // this file names no other file
    ),
  );
}

function readStored(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: one of its files is missing.', null, {
      cause,
    });
  }
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
