import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Health } from '#contract/service.js';
import type { DataStore } from '#contract/stores.js';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

let service: RunningService;
beforeAll(async () => void (service = await runService()));
afterAll(() => service.close());

const data = ['A', 'B'].flatMap((identifier, n) =>
  Array.from({ length: 200 }, (_, i) => [
    identifier,
    new Date(Date.UTC(2024, 0, 1 + i)).toISOString().slice(0, 10),
    10 + n + ((7 * i) % 11) / 10,
  ]),
);
const market = createFrame(['identifier', 'date', 'CLOSE'], data);
const importAs = (storeId: string, more: object = {}) =>
  service.ask('POST', '/data/import', { store_id: storeId, name: storeId, tables: { market }, ...more });

async function findMarketFile(storeId: string): Promise<string> {
  const { location } = (await service.ask<DataStore>('GET', `/data/stores/${storeId}`)).body;
  const name = (await readdir(location!)).find((file) => file.startsWith('market'));
  return join(location!, name!);
}

async function flipBytes(path: string): Promise<Buffer> {
  const intact = await readFile(path);
  const damaged = Buffer.from(intact);
  for (let i = 0; i < 40; i++) damaged[Math.floor(damaged.length / 2) + i]! ^= 0xff;
  await writeFile(path, damaged);
  return intact;
}

test('a damaged file of the active store is refused and reported, and its restored file is served again', async () => {
  await importAs('own', { activate: true });
  const path = await findMarketFile('own');
  const hash = (await service.ask<DataStore>('GET', '/data/stores/own')).body.content_hash;
  let intact: Buffer = Buffer.alloc(0);
  await service.restart(async () => void (intact = await flipBytes(path)), 'new');
  await service.resumed().catch(() => {});
  const refusal = await service.refusal('GET', '/data/prices/A');
  expect([refusal.status, refusal.code]).toEqual([503, 'NO_DATA_SOURCE']);
  expect(refusal.message).toMatch(/market.*was changed by another program.*Restore the folder .* from a backup/);
  expect((await service.ask<Health>('GET', '/health')).body.status).not.toBe('ok');
  const store = (await service.ask<DataStore>('GET', '/data/stores/own')).body;
  expect([store.content_hash, store.error?.code]).toEqual([hash, 'STORE_READ_FAILED']);
  const { versions } = (await service.ask<{ versions: object[] }>('GET', '/data/stores/own/versions')).body;
  expect(versions).toHaveLength(1);
  await writeFile(path, intact);
  await service.ask('POST', '/data/stores/own/activate');
  expect((await service.waitForJob('load:own')).status).toBe('succeeded');
  expect((await service.ask<DataStore>('GET', '/data/stores/own')).body.content_hash).toBe(hash);
});

test('a truncated file of another store answers 503 with its reason to reads, audits, activations and appends', async () => {
  await importAs('second');
  const path = await findMarketFile('second');
  await truncate(path, 100);
  for (const request of ['prices/A?store_id=second', 'stores/second/audit']) {
    const refusal = await service.refusal('GET', `/data/${request}`);
    expect([request, refusal.status, refusal.code]).toEqual([request, 503, 'NO_DATA_SOURCE']);
    expect(refusal.message).toMatch(/The file market of the data store second was changed .* 100 bytes/);
  }
  await service.ask('POST', '/data/stores/second/activate');
  const job = await service.waitForJob('load:second');
  expect([job.status, job.error?.code, JSON.stringify(job.error?.detail)]).toEqual([
    'failed',
    'STORE_READ_FAILED',
    expect.stringContaining('DAMAGED_FILE'),
  ]);
  const append = await importAs('second', { on_exists: 'append' });
  expect(append.status).toBe(503);
  expect((await importAs('second', { on_exists: 'replace' })).status).toBe(201);
  expect((await service.ask('GET', '/data/prices/A?store_id=second')).status).toBe(200);
});

test('a damaged file of a synthetic store is generated again with the same content, and the store reports it', async () => {
  const request = { store_id: 'made', seed: 1, assets: 3, start: '2024-01-02', end: '2024-06-28', activate: true };
  await service.ask('POST', '/data/synthetic', request);
  expect((await service.waitForJob('generate:made')).status).toBe('succeeded');
  const path = await findMarketFile('made');
  const before = (await service.ask<DataStore>('GET', '/data/stores/made')).body;
  let intact: Buffer = Buffer.alloc(0);
  await service.restart(async () => void (intact = await flipBytes(path)), 'new');
  await service.resumed();
  expect((await readFile(path)).equals(intact)).toBe(true);
  const store = (await service.ask<DataStore>('GET', '/data/stores/made')).body;
  expect([store.location, store.content_hash, store.error]).toEqual([before.location, before.content_hash, null]);
  const repairs = (store.findings ?? []).filter(({ code }) => code === 'DAMAGED_FILE');
  expect(repairs.map(({ severity }) => severity)).toEqual(['warning']);
  expect(repairs[0]!.message).toMatch(/^The file market.* was changed .* generated the files of the store again/);
});
