import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHere } from '../../cli/process.js';
import { runInPython } from './in-python.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-empty-logs-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each(['', '{"entries":[]}'])('a file without entries (%j) is no valid log', async (text) => {
  const file = join(folder, 'log');
  await writeFile(file, text);
  const verdicts = [
    await runInPython([file]),
    await runHere(['verify-published', file]),
    await runHere(['audit', '--check', file]),
  ];
  for (const verdict of verdicts) {
    expect(verdict.status).toBe(1);
    expect(JSON.stringify(verdict)).toContain('Entry 1: it is missing: the file has no entries.');
  }
});
