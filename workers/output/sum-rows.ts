import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { locateParts } from '#domain/numbers/even-parts.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Task } from '#jobs/tasks.js';
import type { RowEntry, RowsFile } from '#jobs/tasks/runs.js';
import { createJsonWriter } from '#views/json-writer.js';
import { writeRowsInBlocks } from './rows-in-blocks.js';
import { copyOutput, writeOutputs } from './task-outputs.js';

/** Counts and lists the rows of a job that was computed in parts. Writes its result as JSON, and its rows in blocks. */
export const sumRows: Task<'sum-rows'> = async ({ kind, id, total, outcomes, engineVersion, files, outputs }) => {
  const entriesByFile = files.map(readEntries);
  const rows = locateParts(files).first.flatMap(({ output, at }) => entriesByFile[output]![at]!.map(({ row }) => row));
  const counts = outcomes.map((outcome) => [outcome, rows.filter((row) => row.outcome === outcome).length]);
  const json = createJsonWriter();
  json.value({
    [`${kind}_id`]: id,
    [total]: rows.length,
    ...Object.fromEntries(counts),
    rows: rows.slice(0, LIMITS.MAX_SWEEP_RESULT_ROWS),
    engine_version: engineVersion,
  });
  const blocks = writeRowsInBlocks(rows.length, (i) => rows[i]);
  const outputRefs = await writeOutputs(outputs, {
    view: copyOutput(json.bytes()),
    rows: copyOutput(blocks.bytes),
  });
  return { view: outputRefs.view, rows: { artifact: outputRefs.rows, ...blocks.index } };
};

function readEntries({ path, sha256 }: RowsFile): readonly (readonly RowEntry[])[] {
  const bytes = readFileSync(path);
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new Refusal('DOCUMENT_UNREADABLE', 'Results of some parts are damaged: run the job again.');
  return JSON.parse(bytes.toString()) as RowEntry[][]; // the parts wrote these entries
}
