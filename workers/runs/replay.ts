import { readFileSync } from 'node:fs';
import { firstDifference, type RunDifference } from '#domain/backtest/run-file/compare.js';
import { PRICES } from '#domain/backtest/run-file/prices-apart.js';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { keptMemory } from '#base/memory/kept-memory.js';
import type { ReadRange } from '#domain/backtest/run-file/segments.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Task } from '#jobs/tasks.js';
import type { ReplayInput } from '#jobs/tasks/runs.js';
import { wholeOf } from '#base/memory/made-bytes.js';
import { createJsonWriter } from '#views/json-writer.js';
import { replayView } from '#views/replay-view.js';
import { withInset } from '#views/run-json.js';
import { runForDataset } from './backtest.js';
import { onEngine } from '../input/numerics.js';
import { besidePath, withRunFile } from '../run-files/run-file.js';
import { outputContent, writeOutputs } from '../output/task-outputs.js';

/** Stored parts of a run besides its columns, in order of comparison. */
const TEXTS = ['result', 'overview'] as const;

/** A ReplayView as JSON: the stored run once more under its own stamp, so that equal inputs give equal bytes. */
export const replay: Task<'replay'> = async (input, control) => {
  const view = await onEngine((engine) => {
    const { stored, plan, models, known, market, engineVersion, definitionChanged, paths } = input;
    const stamp = {
      runAt: stored.runAt ?? '',
      runHash: stored.runHash,
      storeContentHash: stored.storeContentHash,
      engineVersion: stored.engineVersion,
      extendedFrom: stored.extendedFrom,
      fullRunReason: stored.fullRunReason,
      // Results of earlier versions do not say it.
      ...(readStored(paths.result).includes('"index_version":') ? { indexVersion: stored.indexVersion } : {}),
    };
    const { outputs, runHash, storeContentHash } = runForDataset(
      engine,
      {
        market,
        plan,
        ...(models === undefined ? {} : { models }),
        ...(known === undefined ? {} : { known }),
        engineVersion,
        stamp,
      },
      control,
    );
    const json = createJsonWriter();
    json.value(
      replayView({
        runId: plan.runId,
        stored,
        replayed: { runHash, engineVersion, storeContentHash },
        definitionChanged,
        difference: differenceOf(input, outputs),
      }),
    );
    return outputContent(json.bytes());
  });
  return writeOutputs(input.outputs, { view });
};

type Outputs = ReturnType<typeof runForDataset>['outputs'];

function differenceOf({ paths }: ReplayInput, outputs: Outputs): RunDifference | null {
  const made = outputs.prices;
  const prices = made === null ? undefined : wholeOf(made, keptMemory(made.length)); // Those of many names lie on the disk.
  const areSame =
    isEqual(readStored(paths.columns), outputs.columns) &&
    (prices === undefined || isEqual(readStored(besidePath(paths.columns, PRICES)), prices));
  if (!areSame) {
    // Those of a run that went on with another are laid out in their own way.
    const rangeOf =
      (bytes: Uint8Array): ReadRange =>
      (start, end) =>
        bytes.slice(start, end);
    const found = withRunFile(paths.columns, (stored) =>
      firstDifference(
        stored,
        openColumns(rangeOf(outputs.columns), () => rangeOf(prices!)), // It names no other file.
      ),
    );
    if (found) return found;
  }
  const { snapshots } = paths;
  const result = readStored(paths.result);
  const stored = {
    result: snapshots === null ? result : withInset(result, { at: snapshots.at, text: readStored(snapshots.path) }),
    overview: readStored(paths.overview),
  };
  const replayed = { result: withInset(outputs.result, outputs.snapshots), overview: outputs.overview };
  for (const part of TEXTS) {
    if (isEqual(stored[part], replayed[part])) continue;
    return { part, date: null, name: null, ...excerpts(stored[part], replayed[part]) };
  }
  return null;
}

function readStored(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: a file of it is not there.', null, {
      cause,
    });
  }
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/** Characters shown from where two texts part. */
const EXCERPT = 80;

function excerpts(stored: Uint8Array, replayed: Uint8Array): { readonly stored: string; readonly replayed: string } {
  let at = 0;
  while (at < stored.length && stored[at] === replayed[at]) at++;
  const from = Math.max(0, at - EXCERPT / 2);
  const cut = (bytes: Uint8Array): string => new TextDecoder().decode(bytes.subarray(from, from + EXCERPT));
  return { stored: cut(stored), replayed: cut(replayed) };
}
