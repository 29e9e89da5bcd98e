import { afterAll, beforeAll, expect, test } from 'vitest';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';
import { createEqualIndex } from '../../equal-index.js';

let service: RunningService;
const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'];

beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

async function serveShares(shares: number): Promise<void> {
  const data = DAYS.flatMap((day, t) => ['A', 'B'].map((name) => [name, day, 100 + t, shares]));
  const market = createFrame(['identifier', 'date', 'CLOSE', 'SHARES_OUTSTANDING'], data);
  const body = { store_id: 's', name: 'S', tables: { market }, on_exists: 'replace', activate: true };
  expect((await service.ask('POST', '/data/import', body)).status).toBe(201);
}

async function run(): Promise<string> {
  await service.ask('POST', '/analytics/EQ/backtest', {});
  expect((await service.waitForJob('backtest:EQ')).status).toBe('succeeded');
  return (await service.ask<{ runs: { run_id: string }[] }>('GET', '/analytics/EQ/runs')).body.runs[0]!.run_id;
}

async function readShares(runId: string): Promise<(number | null)[]> {
  const path = `/analytics/EQ/weights?run_id=${runId}`;
  const { body } = await service.ask<{ weights: { shares_outstanding: number | null }[] }>('GET', path);
  return body.weights.map(({ shares_outstanding }) => shares_outstanding);
}

test('weights of a run show the share counts of its data, and none after other data is served', async () => {
  await serveShares(1000);
  await service.ask('PUT', '/indices/EQ', createEqualIndex('EQ', { name: 'Equal', base_date: DAYS[0] }));
  const before = await run();
  expect(await readShares(before)).toEqual([1000, 1000]);
  await serveShares(3000);
  expect(await readShares(before)).toEqual([null, null]);
  const after = await run();
  expect([await readShares(after), await readShares(before)]).toEqual([
    [3000, 3000],
    [null, null],
  ]);
  await serveShares(1000);
  expect(await readShares(before)).toEqual([1000, 1000]);
});
