import { mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDivisor } from './process.js';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'divisor-reader-')));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the demo performs its main job, reports it, leaves its files and exits with 0 without a terminal', async () => {
  const run = runDivisor(
    ['demo'],
    { DIVISOR_HOME: join(folder, 'untouched'), DIVISOR_API_KEYS: 'never:read:by:it', DIVISOR_WARM_UP: 'off' },
    folder,
  );
  expect([await run.ended, run.err()]).toEqual([0, '']);
  const output = run.out();
  const steps = [
    'Generate a market',
    'Define an index',
    'Preview it',
    'Backtest it with costs',
    'Read the overview',
    'Attribute the return',
    'Derive an optimised child',
    'Backtest it against its parent',
    'Estimate a risk model',
    'Price a future on it',
    'Render the factsheet',
  ];
  expect([...output.matchAll(/^ {2}([A-Z][a-z' ]+?) {2,}\d+\.\d s {2}\S/gm)].map((match) => match[1])).toEqual(steps);
  expect(output).toMatch(/total return +-?\d+\.\d\d% +volatility +\d+\.\d\d%/);
  expect(output.trimEnd().split('\n').at(-1)).toContain('the output is not a terminal');

  const pdfPath = join(folder, 'demo', 'DEMO-50.factsheet.pdf');
  const recordPath = join(folder, 'demo', 'DEMO-50.record.json');
  for (const file of [pdfPath, recordPath]) expect(output).toContain(file);
  expect((await readFile(pdfPath)).subarray(0, 5).toString()).toBe('%PDF-');
  expect(JSON.parse(await readFile(recordPath, 'utf8'))).toMatchObject({
    metrics: { total_return: expect.any(Number) },
    index: { target: { levels: expect.anything() } },
  });
  await expect(stat(join(folder, 'untouched'))).rejects.toThrow('ENOENT');
});
