import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLog } from '#cli/commands/serve.js';
import { waitFor } from '../waiting.js';

test('the log contains no key, password or secret anywhere in a line', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'log-'));
  const file = join(folder, 'log');
  const log = createLog('info', file);
  const key = `dvs_abcdefghijkl_${'k'.repeat(43)}`;
  log.info({ headers: { authorization: 'Bearer hidden-1', 'x-api-key': 'hidden-2' } }, 'request');
  log.info({ authorization: 'hidden-3', store: { source: { password: 'hidden-4' } } }, `with ${key}`);
  log.error(
    { err: new Error('cannot reach postgres://reader:hidden-5@db.example/x', { cause: new Error(`key ${key}`) }) },
    'failed',
  );
  log.debug('below the level');
  // The log file is opened while the program starts. Earlier lines are buffered.
  const text = await waitFor(async () => {
    const logText = await readFile(file, 'utf8');
    expect(logText.trim().split('\n')).toHaveLength(3);
    return logText;
  });
  await rm(folder, { recursive: true });
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { level: string; msg: string; err?: { cause: { message: string } } });
  expect(lines.map(({ level }) => level)).toEqual(['info', 'info', 'error']);
  expect(lines[2]?.err?.cause.message).toBe('key dvs_abcdefghijkl_[redacted]');
  expect(text).toContain('postgres://reader:[redacted]@db.example/x');
  expect(text).not.toMatch(/hidden-|kkkk/);
});
