import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { DataStore } from '#contract/stores.js';
import { pauseReaders } from '../../market/process/reading-processes.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
let file: string;

const formatCsv = (...closes: readonly number[]): string =>
  `date,identifier,CLOSE\n${closes.map((close, t) => `2024-01-0${t + 2},A,${close}\n`).join('')}`;
const isReady = async (): Promise<boolean> => (await service.ask('GET', '/health/ready')).status === 200;
const fetchCloses = async (): Promise<unknown> => (await service.ask('GET', '/data/prices/A')).body;
const fetchStore = async (): Promise<unknown> => (await service.ask('GET', '/data/stores/desk')).body;
const copy = async (): Promise<unknown> =>
  (await service.ask<{ readonly copy: string }>('GET', '/data/stores/desk/versions')).body.copy;

beforeAll(async () => {
  service = await runService();
  const location = join(service.root, 'desk');
  await mkdir(location);
  file = join(location, 'market.csv');
  await writeFile(file, formatCsv(10, 11));
  const store = { store_id: 'desk', name: 'Desk', kind: 'folder', location, activate: true };
  expect((await service.ask('POST', '/data/stores', store)).status).toBe(201);
});
afterAll(() => service.close());

test('after a restart an unchanged folder is served without being read', async () => {
  await expect.poll(copy).toBe('made');
  const before = await fetchCloses();
  const resumeReaders = pauseReaders();
  onTestFinished(resumeReaders);
  await utimes(file, new Date(), new Date()); // changes the file's time, but not its bytes
  await service.restart();
  await expect.poll(isReady).toBe(true);
  expect(await fetchCloses()).toEqual(before);
});

test('one changed byte is read at the start, by the rules of a refresh', async () => {
  const before = await fetchCloses();
  await service.restart(() => writeFile(file, formatCsv(10, 12)));
  await service.resumed();
  expect(await fetchCloses()).toEqual(before);
  const { findings } = (await service.ask<DataStore>('GET', '/data/stores/desk')).body;
  expect(findings).toMatchObject([{ code: 'HISTORY_CHANGED', path: 'market.A' }]);
});

test('changed files are read, as by a refresh', async () => {
  await service.restart(() => writeFile(file, formatCsv(10, 11, 12)));
  await service.resumed();
  expect(await fetchStore()).toMatchObject({ end: '2024-01-04' });
});

test('a new day after a start from the copy is found by a refresh', async () => {
  await expect.poll(copy).toBe('made');
  await service.restart();
  await service.resumed();
  await writeFile(file, formatCsv(10, 11, 12, 13));
  await service.ask('POST', '/data/stores/desk/refresh');
  // Includes the row that a start added.
  expect(await service.waitForJob('refresh:desk')).toMatchObject({ status: 'succeeded', result: { rows_added: 2 } });
  expect(await fetchStore()).toMatchObject({ end: '2024-01-05' });
});
