import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DataAudit, ImportResult } from '#contract/stores.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import {
  service,
  listDays,
  createFolderWith,
  registerStore,
  createTables,
  findStore,
  readActiveStore,
  listFindings,
} from './set-up.js';

export function describeRefreshing(): void {
  describe('refreshing', () => {
    const append = async (id: string, text: string) => {
      const file = join((await findStore(id)).location!, 'market.csv');
      await writeFile(file, (await readFile(file, 'utf8')) + text);
    };

    test('a served folder adds the dates of its new files, and reports restatements on a full refresh', async () => {
      const before = await registerStore('daily', ['A', 'B'], true);
      await append('daily', 'A,2024-01-08,50\n');
      expect((await service.ask<JobStatus>('POST', '/data/stores/daily/refresh')).status).toBe(202);
      expect(await service.waitForJob('refresh:daily')).toMatchObject({
        status: 'succeeded',
        result: {
          store_id: 'daily',
          rows_added: 1,
          dates_added: 1,
          identifiers_added: 0,
          end: '2024-01-08',
          restatements_total: 0,
        },
      });
      expect(await findStore('daily')).toMatchObject({
        end: '2024-01-08',
        active: true,
        last_refreshed_at: expect.any(String) as string,
      });
      expect((await findStore('daily')).content_hash).not.toBe(before.content_hash);
      const file = join(before.location!, 'market.csv');
      await writeFile(file, (await readFile(file, 'utf8')).replace('A,2024-01-02,10', 'A,2024-01-02,10.5'));
      await service.ask('POST', '/data/stores/daily/refresh', { full: true });
      expect((await service.waitForJob('refresh:daily')).result).toMatchObject({
        rows_changed: 1,
        restatements: [{ identifier: 'A', date: '2024-01-02', column: 'CLOSE', before: 10, after: 10.5 }],
      });
      const servedAnswer = (await service.ask<{ prices: { data: number[][] } }>('GET', '/data/prices/A')).body;
      expect(servedAnswer.prices.data[0]).toEqual([10.5]);
    });

    test('sync refreshes the served store', async () => {
      await registerStore('synced', ['A'], true);
      await append('synced', 'A,2024-01-09,60\n');
      expect((await service.ask<JobStatus>('POST', '/data/sync', {})).body.job_id).toBe('sync:synced');
      expect(await service.waitForJob('sync:synced')).toMatchObject({
        kind: 'sync',
        status: 'succeeded',
        result: { rows_added: 1 },
      });
    });

    test('an invalid file fails, and the served version remains', async () => {
      await registerStore('turns-bad', ['A'], true);
      await append('turns-bad', 'A,2024-01-09,text\n');
      await service.ask('POST', '/data/stores/turns-bad/refresh');
      expect(await service.waitForJob('refresh:turns-bad')).toMatchObject({
        status: 'failed',
        error: { code: 'STORE_READ_FAILED' },
      });
      expect((await service.ask('GET', '/data/prices/A')).status).toBe(200);
      expect(await readActiveStore()).toBe('turns-bad');
    });

    test('is refused for imported files', async () => {
      await service.ask('POST', '/data/import', { store_id: 'fixed', name: 'x', tables: createTables(['A']) });
      expect(await service.refusal('POST', '/data/stores/fixed/refresh')).toMatchObject({
        status: 409,
        code: 'NOTHING_TO_REFRESH',
      });
      expect(await service.refusal('POST', '/data/stores/none/refresh')).toMatchObject({
        status: 404,
        code: 'STORE_NOT_FOUND',
      });
      expect(await service.refusal('POST', '/data/stores/fixed/refresh', { until: '2024-02-30' })).toMatchObject({
        status: 422,
      });
    });

    test('of a folder that is not active needs load, adds later days and leaves it inactive', async () => {
      const before = await readActiveStore();
      await registerStore('idle');
      const { content_hash: hash } = await findStore('idle');
      expect((await service.ask('GET', '/data/prices/A?store_id=idle')).status).toBe(200);
      await append('idle', 'A,2024-01-09,12\n');
      for (const body of [undefined, { full: true }, { dry_run: true }, { load: false }])
        expect([body, await service.refusal('POST', '/data/stores/idle/refresh', body)]).toMatchObject([
          body,
          { status: 409, code: 'STORE_NOT_SERVED', detail: { store_id: 'idle' } },
        ]);
      expect((await service.ask('GET', '/jobs/refresh:idle')).status).toBe(404);
      await service.ask('POST', '/data/stores/idle/refresh', { load: true });
      expect(await service.waitForJob('refresh:idle')).toMatchObject({
        status: 'succeeded',
        result: { dates_added: 1 },
      });
      const after = await findStore('idle');
      expect([after.active, after.end, after.content_hash === hash]).toEqual([false, '2024-01-09', false]);
      expect(await readActiveStore()).toBe(before);
      const { prices } = (await service.ask<{ prices: { index: string[] } }>('GET', '/data/prices/A?store_id=idle'))
        .body;
      expect(prices.index.at(-1)).toBe('2024-01-09');
    });

    test('synthetic data is extended with unchanged earlier bars, served or not', async () => {
      await service.ask('POST', '/data/synthetic', {
        store_id: 'grown',
        assets: 5,
        start: '2020-01-01',
        end: '2020-06-30',
        activate: false,
      });
      await service.waitForJob('generate:grown');
      await service.ask('POST', '/data/stores/grown/refresh', { until: '2020-12-31' });
      expect(await service.waitForJob('refresh:grown')).toMatchObject({
        status: 'succeeded',
        result: { rows_changed: 0, restatements_total: 0, start: '2020-01-02', end: '2020-12-31' },
      });
      expect((await findStore('grown')).content_hash).toBe((await findStore('made')).content_hash);
    });
  });

  describe('auditing a store', () => {
    test('finds errors with their evidence, and writes a repaired store separately', async () => {
      const prices = Array.from({ length: 60 }, (_, i) => (i === 30 ? 1000 : 10 + (i % 3) / 10));
      const rows = prices.map((price, i) => `A,${listDays(60)[i]},${price}`);
      const location = await createFolderWith('doubtful', {
        'market.csv': `identifier,date,CLOSE\n${rows.join('\n')}\n`,
      });
      await service.ask('POST', '/data/stores', { store_id: 'doubtful', name: 'Doubtful', kind: 'folder', location });
      const { body: audit } = await service.ask<DataAudit>('GET', '/data/stores/doubtful/audit');
      expect(audit).toMatchObject({
        store_id: 'doubtful',
        total: 1,
        doubts: [
          {
            kind: 'currency_flip',
            identifier: 'A',
            date: listDays(60)[30],
            repair: { kind: 'scale', factor: 0.01, columns: ['CLOSE'] },
          },
        ],
      });
      const { status, body } = await service.ask<ImportResult>('POST', '/data/stores/doubtful/repairs', {
        doubts: [audit.doubts[0]!.id],
        activate: true,
      });
      expect([status, body.store.store_id, body.store.kind, body.store.active, body.store.name]).toEqual([
        201,
        'doubtful-repaired-1',
        'imported',
        true,
        'Doubtful, repaired',
      ]);
      expect(
        (await service.ask<{ prices: { data: number[][] } }>('GET', '/data/prices/A')).body.prices.data[30],
      ).toEqual([10]);
      // A store that is no longer served is read for this request.
      expect(
        (await service.ask<{ prices: { data: number[][] } }>('GET', '/data/prices/A?store_id=doubtful')).body.prices
          .data[30],
      ).toEqual([1000]);
      expect(await service.refusal('GET', '/data/prices/A?store_id=none')).toMatchObject({ code: 'STORE_NOT_FOUND' });
      expect((await service.ask<DataAudit>('GET', '/data/stores/doubtful-repaired-1/audit')).body.doubts).toEqual([]);
      expect((await findStore('doubtful')).content_hash).toBe(audit.content_hash);
      expect(
        listFindings(await service.refusal('POST', '/data/stores/doubtful/repairs', { doubts: ['none'] })),
      ).toEqual(['NOT_IN_CHOICES doubts[0]']);
      expect(await service.refusal('GET', '/data/stores/none/audit')).toMatchObject({
        status: 404,
        code: 'STORE_NOT_FOUND',
      });
    });
  });

  describe('after a restart', () => {
    test('the served store is served again, and orphaned folders are deleted', async () => {
      await service.ask('POST', '/data/import', {
        store_id: 'kept',
        name: 'kept',
        tables: createTables(['KEPT']),
        activate: true,
      });
      const lostFolder = join(service.root, 'home', 'stores', 'lost.00000000');
      await mkdir(lostFolder);
      await writeFile(join(lostFolder, '.divisor-store.json'), '{"format":1,"store_id":"lost"}');
      await service.restart();
      await expect.poll(readActiveStore).toBe('kept');
      expect((await service.ask('GET', '/data/prices/KEPT')).status).toBe(200);
      await expect.poll(() => existsSync(lostFolder)).toBe(false);
    });

    test('an unreadable store reports the reason and nothing is served', async () => {
      const missing = await registerStore('gone', ['A'], true);
      rmSync(missing.location!, { recursive: true });
      await service.restart();
      await expect.poll(async () => (await findStore('gone')).status).toBe('error');
      expect(await service.refusal('GET', '/data/prices/A')).toMatchObject({ status: 503, code: 'NO_DATA_SOURCE' });
      expect((await service.ask('GET', '/data/source')).body).toEqual({ configured: false, identifiers: 0 });
    });
  });
}
