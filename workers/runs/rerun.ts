import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RerunRow, RerunView } from '#contract/reruns.js';
import { partPlaces } from '#domain/numbers/even-parts.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Task } from '#jobs/tasks.js';
import type { RerunFile, RerunOutput } from '#jobs/tasks/runs.js';
import { createJsonWriter } from '#views/json-writer.js';
import { rowsInBlocks } from '../output/rows-in-blocks.js';
import { outputContent, writeOutputs } from '../output/task-outputs.js';

/** Lists what became of the indices of a rerun: a RerunView as JSON, and its rows in blocks. */
export const sumRerun: Task<'sum-rerun'> = async ({ rerunId, engineVersion, files, outputs }) => {
  const read = files.map(outputIn);
  const rows = partPlaces(files).first.flatMap(({ output, at }) => read[output]![at]!.map(({ row }) => row));
  const count = (outcome: RerunRow['outcome']): number => rows.filter((row) => row.outcome === outcome).length;
  const view: RerunView = {
    rerun_id: rerunId,
    indices: rows.length,
    stored: count('stored'),
    current: count('current'),
    refused: count('refused'),
    rows: rows.slice(0, LIMITS.MAX_SWEEP_RESULT_ROWS),
    engine_version: engineVersion,
  };
  const json = createJsonWriter();
  json.value(view);
  const blocks = rowsInBlocks(rows.length, (i) => rows[i]);
  const written = await writeOutputs(outputs, {
    view: outputContent(json.bytes()),
    rows: outputContent(blocks.bytes),
  });
  return { view: written.view, rows: { artifact: written.rows, ...blocks.index } };
};

function outputIn({ path, sha256 }: RerunFile): RerunOutput {
  const bytes = readFileSync(path);
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new Refusal('DOCUMENT_UNREADABLE', 'Results of some indices are damaged: run them again.');
  return JSON.parse(bytes.toString()) as RerunOutput; // as the parts wrote it
}
