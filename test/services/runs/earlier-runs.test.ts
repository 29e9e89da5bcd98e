import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import type { AuditEntry } from '#domain/definition/versions.js';
import type { PublicationEntry } from '#domain/definition/publication.js';
import type { Route } from '#contract/route.js';
import type { CompareView } from '#contract/analytics/analytics.js';
import type { StoredRuns } from '#contract/runs.js';
import { runService, type RunningService } from '../running-service.js';

/** Service with an index that is run repeatedly. Each test depends on the previous test. */
let service: RunningService;

const createDefinition = (weighting: object) => ({
  id: 'KEPT',
  name: 'Kept',
  calendar: 'XNYS',
  base_date: '2023-01-03',
  rebalance: { frequency: 'quarterly' },
  pipeline: { weighting },
});

async function runToEnd(path: string, body: unknown): Promise<void> {
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', path, body);
  expect(await service.waitForJob(started.job_id)).toMatchObject({ status: 'succeeded' });
}

const listRuns = async (query = ''): Promise<StoredRuns> =>
  (await service.ask<StoredRuns>('GET', `/analytics/KEPT/runs${query}`)).body;

/** Returns a response without the state of its run. The state depends on the time. */
async function readView(path: string): Promise<unknown> {
  const { status, body } = await service.ask('GET', path.replace('{identifier}', identifier));
  expect(status, `${path} ${JSON.stringify(body).slice(0, 300)}`).toBe(200);
  return { ...body, stale: null };
}

/** Returns the path of a view of the newest run or of a given run. */
const formatRunView = (view: string, runId?: string): string =>
  `${view.startsWith('/') ? view : `/analytics/KEPT/${view}`}${runId === undefined ? '' : `${view.includes('?') ? '&' : '?'}run_id=${runId}`}`;

/** Values of path parameters. */
const PATH_WORDS: Readonly<Record<string, string>> = { index_id: 'KEPT', date: '2023-04-14', table: 'levels' };
/** A held security, known after the first run. */
let identifier = '';
/** Queries of operations. They are required, or select a format. */
const NEEDS: Readonly<Record<string, string>> = {
  getFactorRisk: 'benchmark=identifier:{identifier}',
  getRollingRisk: 'window=20',
  exportRun: 'format=json',
  getIndexActions: 'from=2023-01-03',
};

/** Every view of a run in the contract. Each is a path relative to the service. */
const VIEWS = Object.entries(API as Readonly<Record<string, Route>>)
  .filter(([, { method, path, query }]) => method === 'GET' && path.includes('{index_id}') && isRunAccepted(query))
  .map(([id, { path }]) => {
    const filledPath = path.replaceAll(/\{(\w+)\}/g, (_, word: string) => PATH_WORDS[word] ?? `{${word}}`);
    return NEEDS[id] === undefined ? filledPath : `${filledPath}?${NEEDS[id]}`;
  });

function isRunAccepted(query: Route['query']): boolean {
  return query !== undefined && 'run_id' in query.shape;
}

beforeAll(async () => {
  service = await runService(['--runs-kept', '3']);
  await runToEnd('/data/synthetic', { store_id: 'm', seed: 5, assets: 8, start: '2023-01-03', end: '2023-06-30' });
  await service.ask('PUT', '/indices/KEPT', createDefinition({ type: 'EqualWeight' }));
  await runToEnd('/analytics/KEPT/backtest', { end: '2023-05-31' });
  const { body } = await service.ask<{ readonly weights: readonly { readonly identifier: string }[] }>(
    'GET',
    '/analytics/KEPT/weights',
  );
  identifier = body.weights[0]!.identifier;
});
afterAll(() => service.close());

test('every view of an earlier run is unchanged since that run was the newest', async () => {
  const [first] = (await listRuns()).runs;
  const earlierViews = await Promise.all(VIEWS.map((view) => readView(formatRunView(view))));
  await service.ask('PUT', '/indices/KEPT', createDefinition({ type: 'PriceWeight' }));
  await runToEnd('/analytics/KEPT/backtest', {});
  const { runs, total } = await listRuns();
  expect([total, runs[1]]).toEqual([2, first]);
  expect(runs.map(({ index_version: version }) => version)).toEqual([2, 1]);
  expect(await Promise.all(VIEWS.map((view) => readView(formatRunView(view, first!.run_id))))).toEqual(earlierViews);
  expect(await readView(formatRunView('levels'))).toEqual(await readView(formatRunView('levels', runs[0]!.run_id)));
  expect(VIEWS.length).toBeGreaterThan(15);
  expect(await readView(formatRunView('levels'))).not.toEqual(await readView(formatRunView('levels', first!.run_id)));
});

test('views state the version of the index of their run, and runs of one index are compared', async () => {
  const [newest, first] = (await listRuns()).runs;
  const readLookAhead = async (path: string): Promise<unknown> =>
    ((await readView(path)) as Record<string, unknown>)['index_version'];
  for (const view of VIEWS) {
    expect(await readLookAhead(formatRunView(view)), view).toBe(2);
    expect(await readLookAhead(formatRunView(view, first!.run_id)), view).toBe(1);
  }
  const { body } = await service.ask<CompareView>('GET', `/analytics/compare?ids=KEPT,KEPT@${first!.run_id}`);
  expect(body.index_ids).toEqual(['KEPT', `KEPT@${first!.run_id}`]);
  expect(body.entries.map((entry) => [entry.index_id, entry.run_id, entry.index_version])).toEqual([
    ['KEPT', newest!.run_id, 2],
    ['KEPT', first!.run_id, 1],
  ]);
  const { levels } = (await readView(formatRunView('levels', first!.run_id))) as {
    readonly levels: { readonly data: number[] };
  };
  const shownLevels = body.entries[1]!.level.data;
  expect(shownLevels[20]! / shownLevels[0]!).toBeCloseTo(levels.data[20]! / levels.data[0]!, 12);
});

test('a preview states the version that it decides; the preview of a document has none', async () => {
  const body = { as_of: '2023-04-14' };
  const storedPreview = await service.ask('POST', '/indices/KEPT/preview', body);
  expect(storedPreview.body).toMatchObject({ index_id: 'KEPT', index_version: 2 });
  const document = { ...body, document: createDefinition({ type: 'EqualWeight' }) };
  expect((await service.ask('POST', '/indices/preview', document)).body).toMatchObject({ index_version: null });
});

test('a report shows the requested run, and no run of an index that it does not show', async () => {
  const first = (await listRuns()).runs[1]!;
  const order = { template_id: 'FACTSHEET-A4', index_id: 'KEPT' };
  await runToEnd('/reports/render', { ...order, run_ids: { KEPT: first.run_id } });
  expect(
    await service.refusal('POST', '/reports/render', { ...order, run_ids: { OTHER: first.run_id } }),
  ).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
  const unknownOrder = { ...order, run_ids: { KEPT: 'f'.repeat(16) } };
  expect((await service.refusal('POST', '/reports/render', unknownOrder)).code).toBe('RUN_NOT_FOUND');
});

test('the figures of a listed run equal those of its overview', async () => {
  for (const { run_id: runId, metrics } of (await listRuns()).runs) {
    const { metrics: shown } = (await readView(formatRunView('overview', runId))) as {
      readonly metrics: Readonly<Record<string, number>>;
    };
    for (const [name, value] of Object.entries(metrics!)) expect(shown[name], name).toBeCloseTo(value!, 12);
  }
});

test('the state of an earlier run is separate: its definition is not the current one', async () => {
  const [newest, first] = (await listRuns()).runs;
  const readStale = async (runId: string) =>
    (await service.ask<{ readonly stale: object | null }>('GET', formatRunView('overview', runId))).body.stale;
  expect(await readStale(newest!.run_id)).toBeNull();
  expect(await readStale(first!.run_id)).toMatchObject({ definition: true, data: false });
});

test('a run equal to the previous one needs no space for its columns', async () => {
  await runToEnd('/analytics/KEPT/backtest', {});
  const folder = join(service.root, 'home', 'artifacts');
  const files = await Promise.all((await readdir(folder)).map((name) => stat(join(folder, name))));
  const sharedFiles = files.filter(({ nlink }) => nlink > 1);
  // The columns and the plan of both runs are shared. Checkpoints are not included: even if they are equal, their bytes
  // may differ, because integers have two encodings.
  expect(sharedFiles.length).toBeGreaterThanOrEqual(4);
  expect(new Set(sharedFiles.map(({ ino }) => ino)).size).toBeLessThanOrEqual(sharedFiles.length / 2);
});

test('a last date of a publication that the run does not reach is refused with the dates of the run', async () => {
  const [newest] = (await listRuns()).runs;
  const [first, last] = [newest!.start, newest!.end];
  for (const through of ['2023-07-03', '2022-12-30'])
    expect(await service.refusal('POST', '/analytics/KEPT/publish', { through })).toMatchObject({
      status: 422,
      code: 'NO_DATA_IN_RANGE',
      detail: { through, first, last },
    });
  expect((await service.ask('GET', '/analytics/KEPT/published')).status).toBe(404);
});

test('the newest runs remain and, in addition, those with published closes', async () => {
  const [, , first] = (await listRuns()).runs;
  const publishedAnswer = await service.ask('POST', '/analytics/KEPT/publish', { run_id: first!.run_id });
  expect(publishedAnswer.status).toBe(200);
  for (const end of ['2023-06-01', '2023-06-02', '2023-06-05']) await runToEnd('/analytics/KEPT/backtest', { end });
  const { runs } = await listRuns();
  expect(runs.map(({ end, published: isPublished }) => [end, isPublished])).toEqual([
    ['2023-06-05', false],
    ['2023-06-02', false],
    ['2023-06-01', false],
    ['2023-05-31', true],
  ]);
  expect(await listRuns(`?limit=1&before=${runs[0]!.run_id}`)).toMatchObject({ runs: [runs[1]], total: 4, skipped: 0 });
  expect(await readView(formatRunView('overview', first!.run_id))).toMatchObject({ index_id: 'KEPT' });
  expect(await service.refusal('GET', formatRunView('overview', 'f'.repeat(16)))).toMatchObject({
    code: 'RUN_NOT_FOUND',
    detail: { index_id: 'KEPT', run_id: 'f'.repeat(16) },
  });
});

test('a replay of an earlier run uses the definition of that run', async () => {
  const publishedRuns = (await listRuns()).runs.at(-1)!;
  const { body: started } = await service.ask<{ readonly job_id: string }>(
    'POST',
    formatRunView('replay', publishedRuns.run_id),
  );
  expect(await service.waitForJob(started.job_id)).toMatchObject({ result: { equal: true, inputs_equal: true } });
});

test('an index deletes its runs with its record, except published ones', async () => {
  const by = { 'x-change-note': 'Made on wrong data', 'x-request-id': 'removal-1' };
  const unpublishedRunIds = (await listRuns()).runs.filter(({ published }) => !published).map(({ run_id: id }) => id);
  expect((await service.ask('DELETE', '/analytics/KEPT/record', undefined, by)).status).toBe(204);
  const listRemovedEntries = async () =>
    (await service.ask<{ readonly entries: AuditEntry[] }>('GET', '/audit?kind=run')).body.entries.filter(
      ({ action }) => action === 'deleted',
    );
  const entries = await listRemovedEntries();
  const requests = entries.filter(({ request_id: request }) => request === 'removal-1');
  expect(requests.map(({ run_id: id }) => id).toSorted()).toEqual(unpublishedRunIds.toSorted());
  expect(entries.at(-1)).toMatchObject({
    action: 'deleted',
    id: 'KEPT',
    request_id: 'removal-1',
    note: 'Made on wrong data',
  });
  const { runs } = await listRuns();
  expect(runs.map(({ published }) => published)).toEqual([true]);
  const { status, body: job } = await service.ask('GET', '/jobs/backtest:KEPT');
  expect([status, job]).toMatchObject([200, { status: 'succeeded', result: null }]); // its run has been deleted
  expect((await service.refusal('GET', formatRunView('overview'))).code).toBe('RUN_NOT_FOUND');
  const publishedId = runs[0]!.run_id;
  const readViews = (): Promise<unknown[]> =>
    Promise.all(VIEWS.map((view) => readView(formatRunView(view, publishedId))));
  const before = await readViews();
  expect((await service.ask('DELETE', '/indices/KEPT')).status).toBe(200);
  expect(await readViews()).toEqual(before);
  const { body: overview } = await service.ask('GET', formatRunView('overview', publishedId));
  expect(overview).toMatchObject({ stale: { definition: true } });
  expect(await listRuns()).toMatchObject({ runs, total: 1, skipped: 0 });
  expect((await service.refusal('GET', formatRunView('overview'))).code).toBe('INDEX_NOT_FOUND');
  expect((await service.refusal('POST', '/analytics/KEPT/publish', { run_id: publishedId })).code).toBe(
    'INDEX_NOT_FOUND',
  );
  await service.ask('POST', '/indices/KEPT/versions/1/restore');
  expect(await listRemovedEntries()).toEqual(entries);
  expect((await service.ask('DELETE', '/indices/KEPT?purge=true')).body).toMatchObject({
    deleted: [{ backtest_record_deleted: true, backtest_results_deleted: 1 }],
  });
  expect((await listRemovedEntries()).slice(entries.length)).toMatchObject([{ id: 'KEPT', run_id: publishedId }]);
  expect((await service.refusal('GET', formatRunView('overview', publishedId))).code).toBe('INDEX_NOT_FOUND');
  await service.ask('PUT', '/indices/KEPT', createDefinition({ type: 'EqualWeight' }));
  expect(await listRuns()).toMatchObject({ runs: [], total: 0, skipped: 0 });
});

test('a restatement that ends before the log is refused if the later closes would not continue it', async () => {
  const { body } = await service.ask<{ readonly entries: readonly PublicationEntry[] }>(
    'GET',
    '/analytics/KEPT/published',
  );
  const dates = body.entries.map(({ date }) => date);
  await service.ask('PUT', '/indices/KEPT', createDefinition({ type: 'PriceWeight' }));
  await runToEnd('/analytics/KEPT/backtest', {});
  const lastDate = dates.at(-3)!;
  const request = { restate: true, reason: 'Other weights', through: lastDate };
  expect(await service.refusal('POST', '/analytics/KEPT/publish', request)).toMatchObject({
    status: 409,
    code: 'RESTATEMENT',
    detail: { dates: dates.slice(-2), total: 2 },
  });
  expect((await service.ask('GET', '/analytics/KEPT/published')).body).toEqual(body);
});

test('a run that begins after the published closes neither restates nor continues them', async () => {
  const laterIndex = { ...createDefinition({ type: 'PriceWeight' }), base_date: '2023-02-01' };
  const { body } = await service.ask<{ readonly entries: readonly PublicationEntry[] }>(
    'GET',
    '/analytics/KEPT/published',
  );
  const dates = body.entries.map(({ date }) => date).filter((date) => date < laterIndex.base_date);
  expect(dates[0]).toBe('2023-01-03');
  for (const base_date of [laterIndex.base_date, '2023-06-01']) {
    await service.ask('PUT', '/indices/KEPT', { ...laterIndex, base_date });
    await runToEnd('/analytics/KEPT/backtest', {});
    const request = { restate: true, reason: 'Another base date' };
    expect(await service.refusal('POST', '/analytics/KEPT/publish', request), base_date).toMatchObject({
      status: 409,
      code: 'RESTATEMENT',
      ...(base_date === laterIndex.base_date ? { detail: { dates, total: dates.length } } : {}),
    });
  }
  const after = await service.ask('GET', '/analytics/KEPT/published');
  expect(after.body).toEqual(body);
});
