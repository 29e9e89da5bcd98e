import { readRecord } from '#domain/backtest/run-file/record.js';
import type { RunRecord } from '#domain/backtest/record/schema.js';
import { Refusal } from '#domain/refusal.js';
import type { RunRecordInput, Task } from '#jobs/tasks.js';
import { createJsonSinkWriter } from '#views/json-writer.js';
import { recordJson, writeRecord } from '#views/record-json.js';
import { answerBytes } from './hand-over.js';
import { hashFile, withRunFile } from './run-file.js';
import { writeTextFile } from './text-file.js';

/** The record of a stored run as JSON, from its columns. */
export const runRecord: Task<'run-record'> = async ({ stamp, ...file }) => withRecord(file, (record) => answerBytes(recordJson(record, stamp)));

/** The same as a file, of which no more than a part is ever in memory. */
export const writeRecordFile: Task<'write-record'> = async ({ stamp, path, ...file }) =>
  withRecord(file, (record) =>
    writeTextFile(path, (sink) => {
      const json = createJsonSinkWriter(sink);
      writeRecord(json, record, stamp);
      json.end();
    }),
  );

/** @throws Refusal DOCUMENT_UNREADABLE */
function withRecord<T>({ columns, files }: Pick<RunRecordInput, 'columns' | 'files'>, use: (record: RunRecord) => T): T {
  if (files.some(({ path, sha256 }) => hashFile(path) !== sha256)) throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: its file is gone or has another content than was written.');
  return withRunFile(columns, (run) => use(readRecord(run)));
}
