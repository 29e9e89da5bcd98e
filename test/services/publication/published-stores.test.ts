import { afterAll, beforeAll, expect, test } from 'vitest';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

/** Service with a store on which closes were published. Each test depends on the previous test. */
let service: RunningService;

const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09'];

const createTables = (count: number, rise: number) => {
  const data = DAYS.slice(0, count).flatMap((day, t) => ['A', 'B'].map((name, n) => [name, day, 100 + n + rise * t]));
  return { market: createFrame(['identifier', 'date', 'CLOSE'], data) };
};

const importStatus = async (store_id: string, rows: object, on_exists = 'replace') =>
  (await service.ask('POST', '/data/import', { store_id, name: store_id, tables: rows, on_exists, activate: true }))
    .status;

async function runBacktestJob(): Promise<string> {
  const { body: job } = await service.ask<{ readonly job_id: string }>('POST', '/analytics/CORE/backtest', {});
  expect(await service.waitForJob(job.job_id)).toMatchObject({ status: 'succeeded' });
  const { body } = await service.ask<{ readonly runs: readonly { readonly run_id: string }[] }>(
    'GET',
    '/analytics/CORE/runs',
  );
  return body.runs[0]!.run_id;
}

const requestPreview = (as_known_on: number) =>
  service.ask<{ readonly constituents?: unknown }>('POST', '/indices/CORE/preview', {
    as_of: '2024-01-05',
    as_known_on,
  });

let publishedStore: string;
let newestDate: string;
let earlierAnswer: unknown;

beforeAll(async () => {
  service = await runService();
  await importStatus('m', createTables(4, 1));
  const index = { id: 'CORE', name: 'Core', calendar: 'XNYS', base_date: '2024-01-02' };
  const rules = { rebalance: { frequency: 'monthly' }, pipeline: { weighting: { type: 'PriceWeight' } } };
  expect((await service.ask('PUT', '/indices/CORE', { ...index, ...rules })).status).toBe(200);
  publishedStore = await runBacktestJob();
  earlierAnswer = (await requestPreview(1)).body.constituents;
  expect(await service.ask('POST', '/analytics/CORE/publish', {})).toMatchObject({ body: { published: 4 } });
  await importStatus('m', createTables(5, 2));
  await importStatus('other', createTables(6, 3));
});
afterAll(() => service.close());

test('a store of published runs cannot be deleted, and the runs are computed again', async () => {
  expect(await service.refusal('DELETE', '/data/stores/m')).toMatchObject({
    status: 409,
    code: 'STORE_PUBLISHED',
    detail: { store_id: 'm', indices: ['CORE'] },
  });
  expect(await service.refusal('DELETE', '/data/stores/other')).toMatchObject({ code: 'STORE_ACTIVE' });
  const { body: activation } = await service.ask<{ readonly job_id: string }>('POST', '/data/stores/m/activate', {});
  await service.waitForJob(activation.job_id);
  expect((await requestPreview(1)).body.constituents).toEqual(earlierAnswer);
  newestDate = await runBacktestJob();
  const { body: asked } = await service.ask<{ readonly job_id: string }>('POST', '/analytics/CORE/runs/diff', {
    from: publishedStore,
    to: newestDate,
  });
  const { status, result } = await service.waitForJob(asked.job_id);
  const { data, effects } = result as {
    readonly data: { readonly cells: number };
    readonly effects: readonly { readonly cause: string; readonly total_return: number }[];
  };
  // Two securities have different prices on three sessions. 201 became 207, and 217 a session later.
  expect({ status, cells: data.cells }).toEqual({ status: 'succeeded', cells: 6 });
  expect(effects.find(({ cause }) => cause === 'data')!.total_return).toBeCloseTo(10 / 201, 12);
});

test('the log of writes has the reason of a restatement as its note', async () => {
  const restatement = { restate: true, reason: 'Another vendor' };
  expect(await service.ask('POST', '/analytics/CORE/publish', restatement)).toMatchObject({ body: { restated: 3 } });
  const { body } = await service.ask<{ readonly entries: readonly { readonly note: string | null }[] }>(
    'GET',
    '/audit?kind=publication&id=CORE',
  );
  expect(body.entries.map(({ note }) => note)).toEqual([null, 'Another vendor']);
});

test('when it is purged and imported again under its id, its numbers continue', async () => {
  await importStatus('other', createTables(6, 3));
  expect((await service.ask('DELETE', '/data/stores/m?purge=true')).status).toBe(204);
  await importStatus('m', createTables(5, 4));
  const { body } = await service.ask('GET', '/data/stores/m/versions');
  expect(body).toMatchObject({ total: 1, versions: [{ version: 3, source: 'import', readable: true }] });
  expect(await requestPreview(1)).toMatchObject({
    status: 404,
    body: { error: { code: 'VERSION_NOT_FOUND', detail: { version: 1, first: 3, last: 3 } } },
  });
  expect((await requestPreview(3)).status).toBe(200);
});

test('a store of the same id has no publication from before the purge, and is deleted like any other', async () => {
  await importStatus('other', createTables(6, 3));
  expect((await service.ask('DELETE', '/data/stores/m')).status).toBe(204);
  const unservedStore = { store_id: 'm', name: 'm', tables: createTables(3, 5), on_exists: 'replace', activate: false };
  await service.ask('POST', '/data/import', unservedStore);
  expect((await service.ask('DELETE', '/data/stores/m')).status).toBe(204);
  // The content matters and not the id. This is the content of the first publication.
  await importStatus('m', createTables(4, 1));
  await importStatus('other', createTables(6, 3));
  expect(await service.refusal('DELETE', '/data/stores/m')).toMatchObject({ code: 'STORE_PUBLISHED' });
});

test('if the newest run was deleted, views name the existing ones', async () => {
  expect((await service.ask('DELETE', '/analytics/CORE/record')).status).toBe(204);
  const { code, detail } = await service.refusal('GET', '/analytics/CORE/levels');
  expect([code, (detail as { readonly run_ids: unknown }).run_ids]).toEqual([
    'RUN_NOT_FOUND',
    [newestDate, publishedStore],
  ]);
  expect((await service.ask('GET', `/analytics/CORE/levels?run_id=${publishedStore}`)).status).toBe(200);
});

test('an index that was deleted before is purged with its published runs, and its log is kept', async () => {
  expect((await service.ask('DELETE', '/indices/CORE')).status).toBe(200);
  const keptAnswer = await service.ask('GET', '/analytics/CORE/runs');
  expect(keptAnswer.body).toMatchObject({
    total: 2,
    runs: [{ published: true }, { run_id: publishedStore, published: true }],
  });
  expect((await service.ask('DELETE', '/indices/CORE?purge=true')).body).toMatchObject({
    deleted: [{ index_id: 'CORE', backtest_record_deleted: true, backtest_results_deleted: 2 }],
  });
  expect((await service.ask('GET', '/analytics/CORE/runs')).status).toBe(404);
  expect((await service.ask('GET', `/analytics/CORE/overview?run_id=${publishedStore}`)).status).toBe(404);
  expect((await service.ask('GET', '/analytics/CORE/published')).body).toMatchObject({ entries: { length: 8 } });
  expect((await service.ask('DELETE', '/indices/CORE?purge=true')).status).toBe(404);
});

test('a store is deleted after the published runs that were made on it are purged', async () => {
  expect((await service.ask('DELETE', '/data/stores/m')).status).toBe(204);
});
