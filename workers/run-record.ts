import { readRecord } from '#domain/backtest/record-columns.js';
import { Refusal } from '#domain/refusal.js';
import type { Task } from '#jobs/tasks.js';
import { recordJson } from '#views/record-json.js';
import { outputBytes } from './hand-over.js';
import { hashFile, withRunFile } from './run-file.js';

/** The record of a stored run as JSON, from its columns. */
export const runRecord: Task<'run-record'> = async ({ columns, sha256, stamp }) => {
  if (hashFile(columns) !== sha256) throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: its file is gone or has another content than was written.');
  return outputBytes(withRunFile(columns, (run) => recordJson(readRecord(run), stamp)));
};
