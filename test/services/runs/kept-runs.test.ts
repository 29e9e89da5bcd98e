import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StoredRuns } from '#contract/analytics/runs.js';
import { runService, type RunningService } from '../running-service.js';

/** One story of an index that is run again and again: tests follow each other. */
let service: RunningService;

const definition = (weighting: object) => ({
  id: 'KEPT',
  name: 'Kept',
  calendar: 'XNYS',
  base_date: '2023-01-03',
  rebalance: { frequency: 'quarterly' },
  pipeline: { weighting },
});

async function ran(path: string, body: unknown): Promise<void> {
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', path, body);
  expect(await service.finished(started.job_id)).toMatchObject({ status: 'succeeded' });
}

const listed = async (query = ''): Promise<StoredRuns> =>
  (await service.ask<StoredRuns>('GET', `/analytics/KEPT/runs${query}`)).body;

/** An answer without the state of its run, which is that of the moment. */
async function viewOf(path: string): Promise<unknown> {
  const { status, body } = await service.ask('GET', path);
  expect(status, path).toBe(200);
  return { ...body, stale: null };
}

/** Path of a view, of the newest run or of one. */
const ofRun = (view: string, runId?: string): string =>
  `/analytics/KEPT/${view}${runId === undefined ? '' : `${view.includes('?') ? '&' : '?'}run_id=${runId}`}`;

const VIEWS = [
  'overview',
  'record',
  'levels',
  'performance',
  'rebalances',
  'attribution',
  'weights',
  'rolling?window=20',
  'reconcile',
  'exports/levels?format=json',
];

beforeAll(async () => {
  service = await runService(['--runs-kept', '3']);
  await ran('/data/synthetic', { store_id: 'm', seed: 5, assets: 8, start: '2023-01-03', end: '2023-06-30' });
  await service.ask('PUT', '/indices/KEPT', definition({ type: 'EqualWeight' }));
  await ran('/analytics/KEPT/backtest', { end: '2023-05-31' });
}, 120_000);
afterAll(() => service.close(), 60_000);

test('every view of an earlier run is what it was while that run was the newest', async () => {
  const [first] = (await listed()).runs;
  const then = await Promise.all(VIEWS.map((view) => viewOf(ofRun(view))));
  await service.ask('PUT', '/indices/KEPT', definition({ type: 'PriceWeight' }));
  await ran('/analytics/KEPT/backtest', {});
  const { runs, total } = await listed();
  expect([total, runs[1]]).toEqual([2, first]);
  expect(runs.map(({ index_version: version }) => version)).toEqual([2, 1]);
  expect(await Promise.all(VIEWS.map((view) => viewOf(ofRun(view, first!.run_id))))).toEqual(then);
  expect(await viewOf(ofRun('levels'))).toEqual(await viewOf(ofRun('levels', runs[0]!.run_id)));
  expect(await viewOf(ofRun('levels'))).not.toEqual(then[VIEWS.indexOf('levels')]);
});

test('the figures of a listed run are those of its overview', async () => {
  for (const { run_id: runId, metrics } of (await listed()).runs) {
    const { metrics: shown } = (await viewOf(ofRun('overview', runId))) as {
      readonly metrics: Readonly<Record<string, number>>;
    };
    for (const [name, value] of Object.entries(metrics!)) expect(shown[name], name).toBeCloseTo(value!, 12);
  }
});

test('the state of an earlier run is its own: its definition is not that of today', async () => {
  const [newest, first] = (await listed()).runs;
  const staleOf = async (runId: string) =>
    (await service.ask<{ readonly stale: object | null }>('GET', ofRun('overview', runId))).body.stale;
  expect(await staleOf(newest!.run_id)).toBeNull();
  expect(await staleOf(first!.run_id)).toMatchObject({ definition: true, data: false });
});

test('a run that comes out as the one before takes no room for its columns', async () => {
  await ran('/analytics/KEPT/backtest', {});
  const folder = join(service.root, 'home', 'artifacts');
  const files = await Promise.all((await readdir(folder)).map((name) => stat(join(folder, name))));
  const shared = files.filter(({ nlink }) => nlink > 1);
  // Columns, overview, checkpoint and plan of both.
  expect(shared.length).toBeGreaterThanOrEqual(8);
  expect(new Set(shared.map(({ ino }) => ino)).size).toBeLessThanOrEqual(shared.length / 2);
});

test('the newest runs stay and, beside them, those of which closes were published', async () => {
  const [, , first] = (await listed()).runs;
  const published = await service.ask('POST', '/analytics/KEPT/publish', { run_id: first!.run_id });
  expect(published.status).toBe(200);
  for (const end of ['2023-06-01', '2023-06-02', '2023-06-05']) await ran('/analytics/KEPT/backtest', { end });
  const { runs } = await listed();
  expect(runs.map(({ end, published: isPublished }) => [end, isPublished])).toEqual([
    ['2023-06-05', false],
    ['2023-06-02', false],
    ['2023-06-01', false],
    ['2023-05-31', true],
  ]);
  expect(await listed(`?limit=1&before=${runs[0]!.run_id}`)).toEqual({ runs: [runs[1]], total: 4 });
  expect(await viewOf(ofRun('overview', first!.run_id))).toMatchObject({ index_id: 'KEPT' });
  expect(await service.refusal('GET', ofRun('overview', 'f'.repeat(16)))).toMatchObject({
    code: 'RUN_NOT_FOUND',
    detail: { index_id: 'KEPT', run_id: 'f'.repeat(16) },
  });
});

test('a replay of an earlier run is of its own definition', async () => {
  const published = (await listed()).runs.at(-1)!;
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', ofRun('replay', published.run_id));
  expect(await service.finished(started.job_id)).toMatchObject({ result: { equal: true, inputs_equal: true } });
});

test('with its record an index forgets its runs, but for the published', async () => {
  expect((await service.ask('DELETE', '/analytics/KEPT/record')).status).toBe(204);
  const { runs } = await listed();
  expect(runs.map(({ published }) => published)).toEqual([true]);
  expect((await service.refusal('GET', ofRun('overview'))).code).toBe('RUN_NOT_FOUND');
  expect((await service.ask('GET', ofRun('overview', runs[0]!.run_id))).status).toBe(200);
  expect((await service.ask('DELETE', '/indices/KEPT?purge=true')).status).toBe(200);
  await service.ask('PUT', '/indices/KEPT', definition({ type: 'EqualWeight' }));
  expect(await listed()).toEqual({ runs: [], total: 0 });
});
