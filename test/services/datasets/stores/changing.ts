import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DataStore } from '#contract/stores.js';
import { service, formatMarketCsv, createFolderWith, registerStore, listFindings } from './set-up.js';

export function describeChanging(): void {
  describe('changing a store', () => {
    test('renames it under its etag', async () => {
      await registerStore('rename');
      const before = await service.ask('GET', '/data/stores/rename');
      expect(before.etag).not.toBeNull();
      expect(
        (
          await service.ask<{ error: { code: string } }>(
            'PATCH',
            '/data/stores/rename',
            { name: 'x' },
            { 'if-match': '"other"' },
          )
        ).body.error.code,
      ).toBe('PRECONDITION_FAILED');
      const after = await service.ask<DataStore>(
        'PATCH',
        '/data/stores/rename',
        { name: 'New name' },
        { 'if-match': before.etag! },
      );
      expect([after.status, after.body.name]).toEqual([200, 'New name']);
      expect(after.etag).not.toBe(before.etag);
      const readKnown = (path: string, etag: string) =>
        service.ask<Record<string, unknown>>('GET', path, undefined, { 'if-none-match': etag });
      const isActive = async () => (await readKnown('/data/stores/rename', after.etag!)).body['active'];
      expect(await isActive()).toBe(false);

      // The unknown securities of a watchlist depend on the active store, and so do the states of stores.
      await service.ask('PUT', '/data/watchlists/seen', { name: 'Seen', identifiers: ['A', 'C'] });
      const watchlist = await service.ask<{ unknown: string[] }>('GET', '/data/watchlists/seen');
      await registerStore('others', ['C'], true);
      const later = await readKnown('/data/watchlists/seen', watchlist.etag!);
      expect([later.status, later.body['unknown']]).toEqual([200, ['A']]);
      await service.ask('POST', '/data/stores/rename/activate');
      await service.waitForJob('load:rename');
      expect([await isActive(), (await readKnown('/data/watchlists/seen', watchlist.etag!)).body['unknown']]).toEqual([
        true,
        ['C'],
      ]);
      expect((await readKnown('/data/watchlists/seen', watchlist.etag!)).etag).toBe(watchlist.etag);
    });

    test('needs a change, and an allowed location', async () => {
      await registerStore('patch');
      expect(await service.refusal('PATCH', '/data/stores/patch', {})).toMatchObject({ status: 422 });
      expect(listFindings(await service.refusal('PATCH', '/data/stores/patch', { source: '/etc' }))).toEqual([
        'LOCATION_NOT_ALLOWED source',
      ]);
      expect(await service.refusal('PATCH', '/data/stores/patch', { colour: 'red' })).toMatchObject({ status: 422 });
    });

    test('refuses the location of another store, its current one and its refresh source', async () => {
      const takenStore = await registerStore('taken');
      await registerStore('taker');
      expect(await service.refusal('PATCH', '/data/stores/taker', { source: takenStore.location })).toMatchObject({
        status: 409,
        code: 'FOLDER_REGISTERED',
        message: expect.not.stringContaining(service.root),
        detail: { store_id: 'taken' },
      });
      const nextFolder = await createFolderWith('next', { 'market.csv': formatMarketCsv(['A']) });
      expect((await service.ask<DataStore>('PATCH', '/data/stores/taker', { source: nextFolder })).body.source).toBe(
        nextFolder,
      );
      expect((await service.ask('PATCH', '/data/stores/taker', { source: nextFolder })).status).toBe(200);
      expect(
        await service.refusal('POST', '/data/stores', { name: 'x', kind: 'folder', location: nextFolder }),
      ).toMatchObject({
        status: 409,
        code: 'FOLDER_REGISTERED',
        detail: { store_id: 'taker' },
      });
    });

    test('declares prices adjusted, also while it is served', async () => {
      await registerStore('declare', ['A'], true);
      expect(
        (await service.ask<DataStore>('PATCH', '/data/stores/declare', { adjustment: 'total' })).body,
      ).toMatchObject({ adjustment: 'total', active: true });
    });

    test('changes the given members of its mapping, and keeps the others', async () => {
      const mapping = {
        identifier_from: 'file:{identifier}.csv',
        columns: { date: 'Date', CLOSE: 'Close' },
        adjusted_close: 'Adj Close',
      };
      const location = await createFolderWith('mapped', { 'A.csv': 'Date,Close,Adj Close\n2024-01-02,10,10\n' });
      const request = { store_id: 'mapped', name: 'Mapped', kind: 'folder', location, mapping };
      expect((await service.ask('POST', '/data/stores', request)).status).toBe(201);
      const patchPlan = async (change: object | null) =>
        (await service.ask<DataStore>('PATCH', '/data/stores/mapped', { mapping: change })).body.mapping;
      expect(await patchPlan({ zero_prices: 'missing' })).toMatchObject({ ...mapping, zero_prices: 'missing' });
      expect(await patchPlan({ adjusted_close: null })).toMatchObject({
        ...mapping,
        zero_prices: 'missing',
        adjusted_close: null,
      });
      expect(await patchPlan({ columns: { date: 'Day' } })).toMatchObject({ columns: { date: 'Day' } });
      expect(
        listFindings(await service.refusal('PATCH', '/data/stores/mapped', { mapping: { colour: 'red' } })),
      ).toEqual(['UNKNOWN_FIELD mapping.colour']);
      expect(await patchPlan(null)).toBeNull();
      expect(await patchPlan({ decimal: ',' })).toMatchObject({ decimal: ',', layout: 'long', adjusted_close: null });
    });

    test('deleting a folder store leaves its folder', async () => {
      const { location } = await registerStore('leave');
      expect((await service.ask('DELETE', '/data/stores/leave')).status).toBe(204);
      expect(existsSync(join(location!, 'market.csv'))).toBe(true);
      expect(await service.refusal('DELETE', '/data/stores/leave')).toMatchObject({
        status: 404,
        code: 'STORE_NOT_FOUND',
        detail: { store_id: 'leave' },
      });
    });
  });
}
