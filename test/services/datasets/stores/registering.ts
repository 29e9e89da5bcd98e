import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DataStore } from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import {
  service,
  formatMarketCsv,
  createFolderWith,
  registerStore,
  findStore,
  readActiveStore,
  listFindings,
} from './set-up.js';

export function describeRegistering(): void {
  describe('registering a folder', () => {
    test('reads it completely and does not serve it', async () => {
      expect(await registerStore('first')).toMatchObject({
        store_id: 'first',
        kind: 'folder',
        managed: false,
        active: false,
        status: 'ready',
        refreshable: true,
        identifiers: 2,
        start: '2024-01-02',
        end: '2024-01-06',
        error: null,
      });
      expect((await findStore('first')).content_hash).toMatch(/^[0-9a-f]{64}$/);
      expect((await findStore('first')).files).toMatchObject([{ label: 'market' }]);
    });

    test('serves it at once on request', async () => {
      expect(await registerStore('served', ['A', 'B'], true)).toMatchObject({ active: true });
      expect(await readActiveStore()).toBe('served');
      expect((await service.ask('GET', '/data/prices/A')).status).toBe(200);
    });

    test('derives an id from the name', async () => {
      const location = await createFolderWith('named', { 'market.csv': formatMarketCsv(['A']) });
      expect(
        (await service.ask<DataStore>('POST', '/data/stores', { name: 'US Large: Caps!', kind: 'folder', location }))
          .body.store_id,
      ).toBe('us-large-caps');
    });

    test('is refused for a registered folder, whatever the path to it, and for an existing id', async () => {
      const { location } = await registerStore('once');
      expect(
        await service.refusal('POST', '/data/stores', {
          name: 'again',
          kind: 'folder',
          location: `${location}/../once`,
        }),
      ).toMatchObject({ status: 409, code: 'FOLDER_REGISTERED' });
      const otherFolder = await createFolderWith('once-more', { 'market.csv': formatMarketCsv(['A']) });
      expect(
        await service.refusal('POST', '/data/stores', {
          store_id: 'once',
          name: 'x',
          kind: 'folder',
          location: otherFolder,
        }),
      ).toMatchObject({ status: 409, code: 'STORE_EXISTS' });
    });

    test('is accepted twice for one folder if each names a different file as the market', async () => {
      const location = await createFolderWith('two-markets', {
        'a.csv': formatMarketCsv(['A']),
        'b.csv': formatMarketCsv(['B', 'C']),
      });
      const create = (store_id: string, tables: object) =>
        service.ask<DataStore>('POST', '/data/stores', { store_id, name: store_id, kind: 'folder', location, tables });
      expect((await create('two-a', { market: 'a.csv' })).body.identifiers).toBe(1);
      expect((await create('two-b', { market: 'b.csv' })).body.identifiers).toBe(2);
      for (const [tables, asked] of [
        [{ market: 'b.csv' }, 'The file b.csv of '],
        [{}, 'The folder '],
      ] as const) {
        const { error } = (await create('two-c', tables)).body as unknown as { error: Record<string, unknown> };
        expect(error).toMatchObject({ code: 'FOLDER_REGISTERED' });
        expect(error['message']).toMatch(new RegExp(`^${asked}`));
        expect(error['message']).not.toContain(service.root);
        expect(error['message']).toMatch(
          'market' in tables ? /store two-b\. To / : /store two-[ab], .* file [ab]\.csv\. To /,
        );
      }
    });

    test('reports every problem and registers nothing', async () => {
      const location = await createFolderWith('bad', {
        'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,x\nA,2024-02-30,1\n',
      });
      const error = await service.refusal('POST', '/data/stores', {
        store_id: 'bad',
        name: 'bad',
        kind: 'folder',
        location,
      });
      expect([error.status, ...listFindings(error)]).toEqual([
        422,
        'NOT_A_NUMBER market[row 1].CLOSE',
        'BAD_DATE market[row 2].date',
      ]);
      expect(await service.refusal('GET', '/data/stores/bad')).toMatchObject({ status: 404, code: 'STORE_NOT_FOUND' });
    });

    test('outside the roots is refused in the same way whether or not it exists', async () => {
      const [there, absent] = [
        await service.refusal('POST', '/data/stores', { name: 'x', kind: 'folder', location: '/etc' }),
        await service.refusal('POST', '/data/stores', { name: 'x', kind: 'folder', location: '/nowhere' }),
      ];
      expect(listFindings(there)).toEqual(['LOCATION_NOT_ALLOWED location']);
      expect(listFindings(absent)).toEqual(listFindings(there));
      expect(absent.message).toBe(there.message);
    });

    test('with a table outside the roots is refused in the same way whether or not it exists', async () => {
      const location = await createFolderWith('named-outside', { 'market.csv': formatMarketCsv(['A']) });
      const readRefusal = (market: string) =>
        service.refusal('POST', '/data/stores', {
          name: 'named outside',
          kind: 'folder',
          location,
          tables: { market },
        });
      const [there, absent] = [
        await readRefusal('../../../../../../etc/passwd'),
        await readRefusal('../../../../../../etc/passwd.of.nobody'),
      ];
      expect(listFindings(there)).toEqual(['LOCATION_NOT_ALLOWED tables.market']);
      expect(absent.detail).toEqual(there.detail);
      expect(listFindings(await readRefusal('prices.csv'))).toEqual(['LOCATION_NOT_FOUND tables.market']);
    });

    test('with more problems than are listed states their number, and counts those that are not listed', async () => {
      const columns = Array.from({ length: 25 }, (_, k) => `F${k}`);
      const rows = Array.from({ length: 10 }, (_, i) => `A${i},2024-01-02,1,${columns.map(() => 'x').join(',')}`);
      const location = await createFolderWith('very-bad', {
        'market.csv': `identifier,date,CLOSE,${columns.join(',')}\n${rows.join('\n')}\n`,
      });
      const error = await service.refusal('POST', '/data/stores', { name: 'very bad', kind: 'folder', location });
      expect(error.message).toBe('250 errors in the data.');
      const { findings, more } = error.detail as { readonly findings: readonly Finding[]; readonly more: number };
      expect(findings).toHaveLength(100);
      expect(findings.every(({ severity }) => severity === 'error')).toBe(true);
      expect(more).toBe(150);
    });

    test('with an error in its listing reports the errors of its files as well', async () => {
      const location = await createFolderWith('mixed', {
        'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,0\n',
        'reference.csv': '',
        'corporate_action.csv': 'x\n',
      });
      const error = await service.refusal('POST', '/data/stores', { name: 'mixed', kind: 'folder', location });
      expect(listFindings(error)).toEqual([
        'NON_POSITIVE_PRICE market[row 1].CLOSE',
        'UNREADABLE_FILE reference',
        'UNKNOWN_FIELD corporate_action.csv',
      ]);
    });

    test('with a misspelt name is reported with the known one and the store', async () => {
      const location = await createFolderWith('nearly', {
        'market.csv': 'identifier,date,CLOSE,VOLUMNE\nA,2024-01-02,1,1\n',
        'universe.csv': 'x\n',
      });
      const { body } = await service.ask<DataStore>('POST', '/data/stores', {
        store_id: 'nearly',
        name: 'nearly',
        kind: 'folder',
        location,
      });
      expect(body.findings?.map(({ severity, path }) => `${severity} ${path}`)).toEqual([
        'warning market.VOLUMNE',
        'warning universe.csv',
      ]);
    });

    test('that is missing inside the roots is not found', async () => {
      expect(
        listFindings(
          await service.refusal('POST', '/data/stores', {
            name: 'x',
            kind: 'folder',
            location: join(service.root, 'absent'),
          }),
        ),
      ).toEqual(['LOCATION_NOT_FOUND location']);
    });
  });
}
