import { closeSync, openSync, readSync } from 'node:fs';
import { openColumns, type RunColumns } from '#domain/backtest/run-columns.js';
import { Refusal } from '#domain/refusal.js';

/**
 * Opens a column file, lets `use` read ranges of it and closes it.
 * @throws Refusal DOCUMENT_UNREADABLE when the file is gone or is not that of a run
 */
export function withRunFile<T>(path: string, use: (columns: RunColumns) => T): T {
  const file = openFile(path);
  try {
    return use(openColumns((start, end) => readRange(file, start, end)));
  } finally {
    closeSync(file);
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: its file is not there.', null, { cause });
  }
}

function readRange(file: number, start: number, end: number): Uint8Array {
  const bytes = new Uint8Array(end - start);
  let done = 0;
  while (done < bytes.length) {
    const count = readSync(file, bytes, done, bytes.length - done, start + done);
    if (count === 0) break;
    done += count;
  }
  return done === bytes.length ? bytes : bytes.slice(0, done);
}
