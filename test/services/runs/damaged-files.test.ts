import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { readdir, truncate, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runService, type RunningService } from '../running-service.js';
import { createEqualIndex } from '../../equal-index.js';

/** Service whose stored results are damaged on disk in several ways. Requests on one market are repeated. */
let service: RunningService;

const formatFolder = (): string => join(service.root, 'home', 'artifacts');

/** Ways in which a result file is lost. */
const DAMAGES: Readonly<Record<string, (path: string) => Promise<void>>> = {
  'has a flipped bit': async (path) => {
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(path, bytes);
  },
  'is cut to nothing': (path) => truncate(path),
  'is deleted': (path) => unlink(path),
  'is cut short': async (path) => truncate(path, readFileSync(path).length >> 1),
};

/**
 * Damages all files. Several names may refer to one file that runs share. Such a file is changed in place only once,
 * but deleted under all names.
 */
async function damageAll(damage: (path: string) => Promise<void>): Promise<void> {
  const paths = (await readdir(formatFolder())).map((name) => join(formatFolder(), name));
  expect(paths.length).toBeGreaterThan(0);
  const files = new Map(paths.map((path) => [statSync(path).ino, path]));
  for (const path of damage === DAMAGES['is deleted'] ? paths : files.values()) await damage(path);
}

async function runToEnd(path: string, body: unknown) {
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', path, body);
  const job = await service.waitForJob(started.job_id);
  expect(job, path).toMatchObject({ status: 'succeeded' });
  return job;
}

/** Returns a body without its run id and without the members that state when and where it was computed. */
async function readContent(path: string): Promise<unknown> {
  const answer = await service.download(path);
  const text = await answer.text();
  expect(answer.status, `${path}: ${text.slice(0, 300)}`).toBe(200);
  const { stale: _stale, run_at: _at, full_run_reason: _reason, ...body } = JSON.parse(text);
  return body;
}

const requestStatus = async (path: string): Promise<number> => (await service.ask('GET', path)).status;

const RUN_PATHS = ['record', 'overview', 'levels', 'weights', 'attribution', 'exports/weights?format=json'].map(
  (view) => `/analytics/EQ/${view}`,
);

beforeAll(async () => {
  service = await runService();
  await runToEnd('/data/synthetic', { store_id: 'm', seed: 5, assets: 60, start: '2019-01-02', end: '2022-12-20' });
  await service.ask(
    'PUT',
    '/indices/EQ',
    createEqualIndex('EQ', { base_date: '2019-01-02', rebalance: { frequency: 'quarterly' } }),
  );
});
afterAll(() => service.close());

test.each(Object.keys(DAMAGES))(
  'a run with every file %s returns the same numbers once the request is repeated',
  async (damage) => {
    await runToEnd('/analytics/EQ/backtest', {});
    const before = await Promise.all(RUN_PATHS.map(readContent));
    await damageAll(DAMAGES[damage]!);
    expect(await requestStatus('/analytics/EQ/record')).toBe(404);
    await runToEnd('/analytics/EQ/backtest', {});
    expect(await Promise.all(RUN_PATHS.map(readContent))).toEqual(before);
    const job = await service.download('/jobs/backtest:EQ');
    expect([job.status, ((await job.json()) as { readonly status: string }).status]).toEqual([200, 'succeeded']);
  },
);

test('a damaged run is not treated as current', async () => {
  await runToEnd('/analytics/EQ/backtest', {});
  expect((await service.ask('POST', '/analytics/EQ/backtest', { if_stale: true })).status).toBe(200);
  await damageAll(DAMAGES['has a flipped bit']!);
  const secondRun = await service.ask<{ readonly job_id: string }>('POST', '/analytics/EQ/backtest', {
    if_stale: true,
  });
  expect(secondRun.status).toBe(202);
  expect(await service.waitForJob(secondRun.body.job_id)).toMatchObject({ status: 'succeeded' });
  expect(await requestStatus('/analytics/EQ/record')).toBe(200);
});

test('no view shows a number of a damaged file, and the run is counted in every listing of runs', async () => {
  await runToEnd('/analytics/EQ/backtest', {});
  await damageAll(DAMAGES['has a flipped bit']!);
  for (const path of RUN_PATHS) expect([path, await requestStatus(path)]).toEqual([path, 404]);
  for (const path of ['/analytics/backtests', '/analytics/summaries', '/analytics/EQ/runs']) {
    const { body } = await service.ask<{ readonly skipped: number; readonly skipped_causes: { unreadable: number } }>(
      'GET',
      path,
    );
    expect([path, body.skipped, body.skipped_causes.unreadable]).toEqual([path, body.skipped, body.skipped]);
    expect([path, body.skipped]).not.toEqual([path, 0]);
  }
  await runToEnd('/analytics/EQ/backtest', {});
  expect(await service.ask('GET', '/analytics/backtests')).toMatchObject({
    body: { skipped: 0, backtests: [{ index_id: 'EQ' }] },
  });
});

test('every view of a run that lacks one of its files answers and the listings show it, or every view refuses it', async () => {
  await service.ask('DELETE', '/analytics/EQ/record');
  const count = async () => {
    const before = new Set(await readdir(formatFolder()));
    await runToEnd('/analytics/EQ/backtest', {});
    return (await readdir(formatFolder()))
      .filter((name) => !before.has(name))
      .map((name) => ({ path: join(formatFolder(), name), bytes: statSync(join(formatFolder(), name)).size }))
      .toSorted((a, b) => a.bytes - b.bytes);
  };
  const fileCount = (await count()).length;
  expect(fileCount).toBeGreaterThan(1);
  for (let k = 0; k < fileCount; k++) {
    await service.ask('DELETE', '/analytics/EQ/record');
    const files = await count();
    await Promise.all(RUN_PATHS.map(readContent)); // the views are cached before the file is lost
    await unlink(files[k]!.path);
    const statuses = await Promise.all(RUN_PATHS.map(requestStatus));
    const isWhole = statuses[0] === 200;
    expect([k, statuses]).toEqual([k, RUN_PATHS.map(() => (isWhole ? 200 : 404))]);
    for (const path of ['/analytics/backtests', '/analytics/summaries', '/analytics/EQ/runs'])
      expect([k, statuses, path, (await service.ask('GET', path)).body['skipped']]).toEqual([
        k,
        statuses,
        path,
        isWhole ? 0 : 1,
      ]);
    await runToEnd('/analytics/EQ/backtest', {});
    expect(await Promise.all(RUN_PATHS.map(requestStatus))).toEqual(RUN_PATHS.map(() => 200));
  }
});

test('the result of a backtest states the version of the index', async () => {
  expect((await runToEnd('/analytics/EQ/backtest', {})).result).toMatchObject({ index_version: 1 });
});

test('a damaged risk model and a damaged render are refused and counted; a repeated estimate replaces the model', async () => {
  await runToEnd('/analytics/EQ/backtest', {});
  await runToEnd('/risk-models/rm/estimate', { index_id: 'EQ' });
  const { result } = await runToEnd('/reports/render', { template_id: 'FACTSHEET-A4', index_id: 'EQ' });
  const renderPath = `/reports/renders/${(result as { readonly render_id: string }).render_id}`;
  const before = await readContent('/risk-models/rm');
  await damageAll(DAMAGES['has a flipped bit']!);
  for (const path of ['/risk-models/rm', '/jobs/risk:rm', renderPath])
    expect([path, await requestStatus(path)]).toEqual([path, 404]);
  for (const path of ['/risk-models', '/reports/renders'])
    expect((await service.ask('GET', path)).body).toMatchObject({ skipped: 1, skipped_causes: { unreadable: 1 } });
  await runToEnd('/analytics/EQ/backtest', {});
  await runToEnd('/risk-models/rm/estimate', { index_id: 'EQ' });
  expect(await readContent('/risk-models/rm')).toEqual(before);
});

test('a damaged result of a job is refused before the first byte of the answer', async () => {
  await runToEnd('/analytics/EQ/backtest', {});
  await damageAll(async (path) => {
    const bytes = readFileSync(path);
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(path, bytes);
  });
  expect(await service.refusal('GET', '/jobs/backtest:EQ')).toMatchObject({
    status: 404,
    code: 'DOCUMENT_UNREADABLE',
    message: expect.not.stringMatching(/\.art|\/home\//),
  });
});

test('an extension of a run with a damaged earlier file is a whole run', async () => {
  await service.ask('DELETE', '/analytics/EQ/record');
  await runToEnd('/analytics/EQ/backtest', {});
  const baseFiles = await readdir(formatFolder());
  await runToEnd('/data/stores/m/refresh', { until: '2022-12-21' });
  const { result } = await runToEnd('/analytics/EQ/backtest', {});
  expect(result).toMatchObject({ extended_from: '2022-12-20' });
  for (const name of await readdir(formatFolder()))
    if (baseFiles.includes(name)) await DAMAGES['has a flipped bit']!(join(formatFolder(), name));
  await runToEnd('/data/stores/m/refresh', { until: '2022-12-22' });
  const next = await runToEnd('/analytics/EQ/backtest', {});
  expect(next.result).toMatchObject({ extended_from: null, full_run_reason: 'no_checkpoint' });
  expect(await requestStatus('/analytics/EQ/record')).toBe(200);
});
