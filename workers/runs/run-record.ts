import { readRecord } from '#domain/backtest/run-file/record.js';
import type { RunRecord } from '#domain/backtest/record/schema.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Task } from '#jobs/tasks.js';
import type { RunRecordInput } from '#jobs/tasks/runs.js';
import type { WrittenFile } from '#jobs/tasks/files.js';
import { createJsonSinkWriter, type JsonWriter } from '#views/json-writer.js';
import { recordJson, upgradedRecord, writeRecord } from '#views/record-json.js';
import { answerBytes } from '../output/hand-over.js';
import { hashFile, withRunFile } from '../run-files/run-file.js';
import { readJson } from '../input/stored-texts.js';
import { writeTextFile } from '../output/text-file.js';

/** The record of a stored run as JSON. */
export const runRecord: Task<'run-record'> = async (input) => {
  const { stored, stamp } = input;
  return stored
    ? answerBytes(JSON.stringify(upgradedRecord(readJson(stored))))
    : withRecord(input, (record) => answerBytes(recordJson(record, stamp)));
};

/** The same as a file, of which no more than a part is ever in memory, but for one that is upgraded. */
export const writeRecordFile: Task<'write-record'> = async (input) => {
  const { stored, stamp, path } = input;
  const write = (record: (json: JsonWriter) => void): WrittenFile =>
    writeTextFile(path, (sink) => {
      const json = createJsonSinkWriter(sink);
      record(json);
      json.end();
    });
  if (stored) return write((json) => json.value(upgradedRecord(readJson(stored))));
  return withRecord(input, (record) => write((json) => writeRecord(json, record, stamp)));
};

/** @throws Refusal DOCUMENT_UNREADABLE */
function withRecord<T>({ columns, files }: RunRecordInput, use: (record: RunRecord) => T): T {
  if (files.some(({ path, sha256 }) => hashFile(path) !== sha256))
    throw new Refusal(
      'DOCUMENT_UNREADABLE',
      'The stored run cannot be read: its file is gone or has another content than was written.',
    );
  return withRunFile(columns, (run) => use(readRecord(run)));
}
