import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findPricesFile } from '#domain/backtest/run-file/header.js';
import { REMEMBERED_BYTES_MIN } from '#workers/run-files.js';
import { runService, type RunningService } from '../running-service.js';

/** Service with a store that grows. Each test depends on the previous test. */
let service: RunningService;

/** Sessions that are appended to the store. */
const DAYS = ['2022-12-21', '2022-12-22', '2022-12-23', '2022-12-27', '2022-12-28', '2022-12-29', '2022-12-30'];

async function runToEnd(path: string, body: unknown) {
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', path, body);
  const { status, result } = await service.waitForJob(started.job_id);
  expect(status, path).toBe('succeeded');
  return result as { readonly extended_from: string | null; readonly full_run_reason: string | null };
}

const formatFolder = (): string => join(service.root, 'home', 'artifacts');
const formatPath = (name: string): string => join(formatFolder(), name);

/** Returns the files of a run that is computed as a whole. An extension compares these files with their hashes. */
async function runWhole(id: string): Promise<{ readonly columns: string; readonly prices: string }> {
  await service.ask('DELETE', `/analytics/${id}/record`);
  const before = new Set(await readdir(formatFolder()));
  expect(await runToEnd(`/analytics/${id}/backtest`, {})).toMatchObject({ extended_from: null });
  const newArtifacts = (await readdir(formatFolder())).filter((name) => !before.has(name));
  const columns = newArtifacts.find((name) => newArtifacts.includes(findPricesFile(name)))!;
  return { columns: formatPath(columns), prices: formatPath(findPricesFile(columns)) };
}

const grow = () => runToEnd('/data/stores/m/refresh', { until: DAYS.shift()! });

/**
 * Returns the bytes that this process has read so far from files and connections. The service runs in this process.
 * Works only on Linux.
 */
const readSoFar = (): number => Number(/^rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))![1]);

/** Extends a run. @returns its origin, and the bytes that the service read for it */
async function extendAndReadFiles(id: string) {
  const before = readSoFar();
  const { body } = await service.ask<{ readonly job_id: string }>('POST', `/analytics/${id}/backtest`, {});
  // events contain no result, so no files are read for them
  const events = await service.download(`/jobs/${body.job_id}/events`);
  await events.text();
  const read = readSoFar() - before;
  const { result } = await service.waitForJob(body.job_id);
  const { extended_from: from, full_run_reason: reason } = result as Awaited<ReturnType<typeof runToEnd>>;
  return { from, reason, read };
}

/** Changes the last bit of the byte in the middle of a file. */
function flip(path: string): void {
  const file = openSync(path, 'r+');
  const byte = new Uint8Array(1);
  const offset = statSync(path).size >> 1;
  readSync(file, byte, 0, 1, offset);
  byte[0]! ^= 1;
  writeSync(file, byte, 0, 1, offset);
  closeSync(file);
}

beforeAll(async () => {
  service = await runService();
  await runToEnd('/data/synthetic', { store_id: 'm', seed: 5, assets: 180, start: '2019-01-02', end: '2022-12-20' });
  for (const [id, type] of Object.entries({ FIRST: 'EqualWeight', SECOND: 'MarketCapWeight' }))
    await service.ask('PUT', `/indices/${id}`, {
      id,
      name: id,
      calendar: 'XNYS',
      base_date: '2019-01-02',
      rebalance: { frequency: 'quarterly' },
      pipeline: { weighting: { type } },
    });
});
afterAll(() => service.close());

test.runIf(process.platform === 'linux')(
  'an extension reads no unchanged file that the service wrote; after a restart it reads them',
  async () => {
    const first = await runWhole('FIRST');
    const second = await runWhole('SECOND'); // shares the prices of the first run if one thread computed both
    await grow();
    for (const [id, { columns, prices }] of Object.entries({ FIRST: first, SECOND: second })) {
      const { from, read } = await extendAndReadFiles(id);
      expect(from).not.toBeNull();
      // The extension copies half of the columns. If it also read the prices or all columns, it would read more than
      // the size of the columns.
      expect(statSync(prices).size).toBeGreaterThan(statSync(columns).size / 2);
      expect(read).toBeLessThan(statSync(columns).size);
    }
    const { columns, prices } = await runWhole('FIRST');
    await service.restart();
    await service.resumed();
    await grow();
    const { from, read } = await extendAndReadFiles('FIRST');
    expect(from).not.toBeNull();
    expect(read).toBeGreaterThan(statSync(columns).size + statSync(prices).size);
  },
);

test.each(['columns', 'prices'] as const)(
  'a bit of the %s that was changed in place causes a whole run',
  async (file) => {
    flip((await runWhole('FIRST'))[file]);
    await grow();
    expect(await extendAndReadFiles('FIRST')).toMatchObject({ from: null, reason: 'no_checkpoint' });
  },
);

test.each(['columns', 'prices'] as const)(
  'replacing %s by others of equal size and time causes a whole run',
  async (file) => {
    const path = (await runWhole('FIRST'))[file];
    const { atime, mtime, size, ino } = statSync(path);
    const otherPath = formatPath('other');
    copyFileSync(path, otherPath);
    flip(otherPath);
    utimesSync(otherPath, atime, mtime);
    renameSync(otherPath, path);
    expect(statSync(path)).toMatchObject({ mtime, size });
    expect(statSync(path).ino).not.toBe(ino);
    await grow();
    expect(await extendAndReadFiles('FIRST')).toMatchObject({ from: null, reason: 'no_checkpoint' });
  },
);

test('a silent change on disk is detected in columns that an extension copies', async () => {
  const { columns } = await runWhole('FIRST');
  const before = new Set(await readdir(formatFolder()));
  // Columns are cached if they are larger than about 256 KiB.
  await runToEnd('/data/stores/m/refresh', { until: '2023-02-03' });
  expect((await extendAndReadFiles('FIRST')).from).not.toBeNull();
  const inodes = new Set([...before].map((name) => statSync(formatPath(name)).ino));
  const newArtifacts = (await readdir(formatFolder()))
    .map(formatPath)
    .filter((path) => !inodes.has(statSync(path).ino) && readFileSync(path, 'latin1').startsWith('DVSRUN'));
  const copiedFile = newArtifacts.toSorted((a, b) => statSync(b).size - statSync(a).size)[0]!;
  expect(statSync(copiedFile).size).toBeGreaterThan(REMEMBERED_BYTES_MIN);
  expect(statSync(copiedFile).size).toBeLessThan(statSync(columns).size);
  const { atime, mtime } = statSync(copiedFile);
  flip(copiedFile);
  utimesSync(copiedFile, atime, mtime);
  await runToEnd('/data/stores/m/refresh', { until: '2023-02-06' });
  expect(await extendAndReadFiles('FIRST')).toMatchObject({ from: null, reason: 'no_checkpoint' });
});
