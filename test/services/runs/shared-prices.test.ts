import { readFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findPricesFile, SEPARATE_BYTES_MIN } from '#domain/backtest/run-file/header.js';
import { runService, type RunningService } from '../running-service.js';

/**
 * Service with several runs on one market. Their prices are in separate files. Each test depends on the previous test.
 */
let service: RunningService;

async function runToEnd(path: string, body: unknown): Promise<void> {
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', path, body);
  expect(await service.waitForJob(started.job_id)).toMatchObject({ status: 'succeeded' });
}

const createIndexBody = (id: string, weighting: object) => ({
  id,
  name: id,
  calendar: 'XNYS',
  base_date: '2019-01-02',
  rebalance: { frequency: 'quarterly' },
  pipeline: { weighting },
});

const formatFolder = (): string => join(service.root, 'home', 'artifacts');

/** Returns the price files of the stored runs. Each has its name and its file status, such as the inode. */
async function listPriceFiles() {
  const names = await readdir(formatFolder());
  const isColumns = (name: string): boolean => readFileSync(join(formatFolder(), name), 'latin1').startsWith('DVSRUN');
  const priceFiles = names.filter((name) => names.includes(findPricesFile(name)) && !isColumns(name));
  return selectFiles(priceFiles);
}

function selectFiles(names: readonly string[]) {
  return Promise.all(names.map(async (name) => ({ name, ...(await stat(join(formatFolder(), name))) })));
}

async function readViews(id: string): Promise<readonly unknown[]> {
  const { body: held } = await service.ask<{ readonly weights: readonly { readonly identifier: string }[] }>(
    'GET',
    `/analytics/${id}/weights`,
  );
  const name = held.weights[0]!.identifier;
  const paths = ['attribution', 'reconcile', `assets/${name}`, 'exports/constituents?format=csv'];
  return Promise.all(
    paths.map(async (path) => {
      const answer = await service.download(`/analytics/${id}/${path}`);
      expect(answer.status, path).toBe(200);
      return (await answer.text()).replaceAll(/"stale":(null|\{[^}]*\})/g, '');
    }),
  );
}

async function rerunIndex(id: string) {
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', `/analytics/${id}/replay`);
  return service.waitForJob(started.job_id);
}

const EQUAL_OUTCOME = { result: { equal: true, inputs_equal: true } };

beforeAll(async () => {
  service = await runService(['--runs-kept', '2']);
  await runToEnd('/data/synthetic', { store_id: 'm', seed: 5, assets: 140, start: '2019-01-02', end: '2022-12-30' });
  await service.ask('PUT', '/indices/FIRST', createIndexBody('FIRST', { type: 'EqualWeight' }));
  await service.ask('PUT', '/indices/SECOND', createIndexBody('SECOND', { type: 'MarketCapWeight' }));
  await runToEnd('/analytics/FIRST/backtest', {});
});
afterAll(() => service.close());

test('the prices of a run are one file, shared by runs of other weights and costs', async () => {
  const [first, ...otherFiles] = await listPriceFiles();
  expect([first?.nlink, otherFiles]).toEqual([1, []]);
  expect(first!.size).toBeGreaterThan(SEPARATE_BYTES_MIN);
  await runToEnd('/analytics/SECOND/backtest', {});
  await runToEnd('/analytics/FIRST/backtest', { transaction_cost_bps: 20 });
  expect((await listPriceFiles()).map(({ ino, nlink }) => [ino, nlink])).toEqual(
    Array.from({ length: 3 }, () => [first!.ino, 3]),
  );
  expect(await rerunIndex('FIRST')).toMatchObject(EQUAL_OUTCOME);
  expect(await rerunIndex('SECOND')).toMatchObject(EQUAL_OUTCOME);
});

test('a run keeps its prices when the run that wrote them is deleted', async () => {
  const before = await readViews('SECOND');
  expect((await service.ask('DELETE', '/indices/FIRST')).status).toBe(200);
  await service.restart(); // removes unreferenced files
  await service.resumed();
  expect(await listPriceFiles()).toHaveLength(1);
  expect(await readViews('SECOND')).toEqual(before);
});

test('prices deleted meanwhile are written with the run', async () => {
  const before = await readViews('SECOND');
  for (const { name } of await listPriceFiles()) await rm(join(formatFolder(), name));
  await runToEnd('/analytics/SECOND/backtest', {});
  expect(await listPriceFiles()).toHaveLength(1);
  expect(await readViews('SECOND')).toEqual(before);
  expect(await rerunIndex('SECOND')).toMatchObject(EQUAL_OUTCOME);
});

test('a run equal to the stored one shares all files with it', async () => {
  const [shown, before] = [
    await readViews('SECOND'),
    new Set((await selectFiles(await readdir(formatFolder()))).map(({ ino }) => ino)),
  ];
  await runToEnd('/analytics/SECOND/backtest', {});
  const addedFiles = (await selectFiles(await readdir(formatFolder()))).filter(({ ino }) => !before.has(ino));
  // Only the result is new. It was written when the client read it.
  expect(addedFiles.map(({ name }) => readFileSync(join(formatFolder(), name), 'latin1').slice(0, 16))).toEqual([
    '{"annual_returns',
  ]);
  expect(await readViews('SECOND')).toEqual(shown);
  expect(await rerunIndex('SECOND')).toMatchObject(EQUAL_OUTCOME);
});
