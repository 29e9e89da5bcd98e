import { readRebalances, readRecord } from '#domain/backtest/run-file/record.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { summariseRun } from '#domain/backtest/run-summary.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Task } from '#jobs/tasks.js';
import type { OverviewFile, RunTextInput, StoredText } from '#jobs/tasks/runs.js';
import { createJsonSinkWriter, createJsonWriter, type JsonWriter } from '#views/json-writer.js';
import { upgradeRecord, writeRecord } from '#views/record-json.js';
import { encodeOverview, upgradeResult, writeResult } from '#views/run-json.js';
import { readPlan, readJson, readStored } from '../input/stored-texts.js';
import { answerBytes } from '../output/hand-over.js';
import { writeTextFile } from '../output/text-file.js';
import { hashFile, useRunFile } from '../run-files/run-file.js';

/** Writes the record or the result of a stored run as JSON. */
export const readRunText: Task<'run-text'> = async (input) => {
  const json = createJsonWriter();
  writeText(json, input);
  return answerBytes(json.bytes());
};

/**
 * Writes the record or the result of a stored run as a file. Only a part of it is in memory at a time, except for a
 * text that an earlier version stored.
 */
export const writeRunText: Task<'write-run-text'> = async ({ path, ...input }) =>
  writeTextFile(path, (sink) => {
    const json = createJsonSinkWriter(sink);
    writeText(json, input);
    json.end();
  });

function writeText(json: JsonWriter, input: RunTextInput): void {
  if ('stored' in input) {
    writeStored(json, input);
    return;
  }
  const { columns, files, stamp } = input;
  if (files.some(({ path, sha256 }) => hashFile(path) !== sha256))
    throw new Refusal(
      'DOCUMENT_UNREADABLE',
      'The stored run cannot be read: its file is missing or its content has changed.',
    );
  useRunFile(columns, (run) => {
    if (input.text === 'record') writeRecord(json, readRecord(run), stamp);
    else writeResult(json, { stamp, run: summariseRun(run, readPlan(input.plan)), rebalances: readRebalances(run) });
  });
}

/** Writes a text that an earlier version stored. Adds the members that texts have today. */
function writeStored(json: JsonWriter, { text, stored }: { readonly stored: StoredText } & Pick<RunTextInput, 'text'>) {
  const { inset } = stored;
  if (text === 'record') json.value(upgradeRecord(readJson(stored)));
  else if (inset === undefined) json.value(upgradeResult(readJson(stored)));
  else {
    const resultBytes = readStored(stored);
    json.token(resultBytes.subarray(0, inset.at));
    json.token(readStored(inset));
    json.token(resultBytes.subarray(inset.at));
  }
}

/** Writes the overview of a stored run as JSON. @throws Refusal DOCUMENT_UNREADABLE */
export function formatOverview(run: RunColumns, overview: OverviewFile): Uint8Array<ArrayBuffer> {
  return 'plan' in overview ? encodeOverview(summariseRun(run, readPlan(overview.plan))) : readStored(overview.stored);
}
