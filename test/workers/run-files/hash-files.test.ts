import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createHashCells } from '#jobs/tasks/messages.js';
import { completeHashes, hashFiles } from '#workers/run-files.js';

const folder = mkdtempSync(join(tmpdir(), 'divisor-hashes-'));
afterAll(() => rmSync(folder, { recursive: true }));

const writeTestFile = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const control = { report: () => {} };

test('a thread without help hashes every file, and omits missing files', () => {
  const paths = [writeTestFile('a', 'one'), join(folder, 'none'), writeTestFile('b', '')];
  expect(completeHashes({ paths, cells: createHashCells(3) })).toEqual([sha256('one'), null, sha256('')]);
});

test('a file that another thread has hashed is not read again', async () => {
  const paths = [writeTestFile('c', 'before'), join(folder, 'none'), writeTestFile('d', 'other')];
  const cells = createHashCells(3);
  await hashFiles({ paths, cells }, control);
  writeTestFile('c', 'after');
  expect(completeHashes({ paths, cells })).toEqual([sha256('before'), null, sha256('other')]);
});

test('a file that another thread claimed and never finished is hashed in its place', () => {
  const cells = createHashCells(2);
  const paths = [writeTestFile('e', 'left'), writeTestFile('f', 'free')];
  cells.states[0] = 1;
  expect(completeHashes({ paths, cells })).toEqual([sha256('left'), sha256('free')]);
});
