import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sqlite from 'node-sqlite3-wasm';
import { describe, expect, test } from 'vitest';
import type { DataStore } from '#contract/stores.js';
import { service, writeTables, listFindings } from './set-up.js';

export function describeDatabases(): void {
  describe('registering a database', () => {
    test('reads a SQLite file in full, serves it and refreshes it', async () => {
      const path = join(service.root, 'bars.db');
      const database = new sqlite.Database(path);
      database.exec("CREATE TABLE bars (identifier, date, CLOSE); INSERT INTO bars VALUES ('A', '2024-01-02', 1)");
      const { status, body } = await service.ask<DataStore>('POST', '/data/stores', {
        name: 'Bars',
        kind: 'database',
        location: `sqlite://${path}`,
        tables: { market: 'bars' },
        activate: true,
      });
      expect([status, body.kind, body.active, body.location]).toEqual([201, 'database', true, `sqlite://${path}`]);
      database.exec("INSERT INTO bars VALUES ('A', '2024-01-03', 2)");
      database.close();
      await service.ask('POST', '/data/stores/bars/refresh');
      expect(await service.waitForJob('refresh:bars')).toMatchObject({
        status: 'succeeded',
        result: { rows_added: 1, end: '2024-01-03' },
      });
      const secondStore = { name: 'Again', kind: 'database', location: `sqlite://${path}`, tables: { market: 'bars' } };
      expect(await service.refusal('POST', '/data/stores', secondStore)).toMatchObject({
        status: 409,
        code: 'FOLDER_REGISTERED',
      });
    });

    test('refuses a DuckDB file that another process has open, with the number of that process', async () => {
      const path = join(service.root, 'open.duckdb');
      const instance = await DuckDBInstance.create(path);
      const location = `duckdb://${path}`;
      const message = `The database cannot be read: process ${process.pid} has the file open for writing; close the file there and try again.`;
      const create = { name: 'Open', kind: 'database', location };
      const { status, detail } = await service.refusal('POST', '/data/stores', create);
      instance.closeSync();
      expect(status).toBe(422);
      expect(detail?.['findings']).toMatchObject([{ code: 'UNREADABLE_FILE', message }]);
    });

    test.each(['sqlite', 'duckdb'] as const)(
      'a second store of a %s file with other tables is another store',
      async (kind) => {
        const path = join(service.root, `two.${kind}`);
        await writeTables(kind, path, [
          'CREATE TABLE us (identifier VARCHAR, date DATE, CLOSE DOUBLE)',
          "INSERT INTO us VALUES ('A', '2024-01-02', 1)",
          'CREATE TABLE uk (identifier VARCHAR, date DATE, CLOSE DOUBLE)',
          "INSERT INTO uk VALUES ('B', '2024-01-02', 2), ('C', '2024-01-02', 3)",
        ]);
        const location = `${kind}://${path}`;
        const create = (id: string, market: string) => ({
          store_id: `${kind}-${id}`,
          name: id,
          kind: 'database',
          location,
          tables: { market },
        });
        const results = [
          await service.ask<DataStore>('POST', '/data/stores', create('us', 'us')),
          await service.ask<DataStore>('POST', '/data/stores', create('uk', 'uk')),
        ];
        expect(results.map(({ status, body }) => [status, body.identifiers])).toEqual([
          [201, 1],
          [201, 2],
        ]);
        // The market tables are equal, but the store differs if another table differs.
        expect(
          await service.refusal('POST', '/data/stores', {
            ...create('us-again', 'us'),
            tables: { market: 'us', universes: 'universes' },
          }),
        ).toMatchObject({ status: 409, detail: { store_id: `${kind}-us` } });
        await service.ask('POST', `/data/stores/${kind}-uk/activate`);
        expect(await service.waitForJob(`load:${kind}-uk`)).toMatchObject({ status: 'succeeded' });
        expect((await service.ask('GET', '/data/prices/C')).status).toBe(200);
        // A source stays in use as long as another store reads it with the same tables.
        expect((await service.ask('PATCH', `/data/stores/${kind}-uk`, { source: location })).status).toBe(200);
      },
    );

    test('without a driver is not supported; a host that is not allowed is refused without its password', async () => {
      expect(
        await service.refusal('POST', '/data/stores', {
          name: 'x',
          kind: 'database',
          location: 'mysql://u:p@localhost/x',
        }),
      ).toMatchObject({ status: 501, code: 'NOT_SUPPORTED' });
      const error = await service.refusal('POST', '/data/stores', {
        name: 'x',
        kind: 'database',
        location: 'postgresql://u:top-secret@10.1.2.3/x',
      });
      expect(listFindings(error)).toEqual(['LOCATION_NOT_ALLOWED location']);
      expect(JSON.stringify(error)).not.toContain('top-secret');
    });

    test.each([
      ['postgresql://u:top/secret@127.0.0.1/x', 'WRONG_TYPE location'],
      ['postgresql://u:1/secret@127.0.0.1/x', 'LOCATION_NOT_ALLOWED location'],
      ['postgresql://u:top@secret@10.1.2.3/x', 'LOCATION_NOT_ALLOWED location'],
      ['postgresql://u:top secret@10.1.2.3/x', 'LOCATION_NOT_ALLOWED location'],
      ['postgresql://u@127.0.0.1/x?password=secret', 'WRONG_TYPE location'],
      ['postgresql://u@10.1.2.3/x?password=secret', 'LOCATION_NOT_ALLOWED location'],
      ['postgresql:u:secret@127.0.0.1/x', 'WRONG_TYPE location'],
      ['postgresql://u:secret%@127.0.0.1/x', 'WRONG_TYPE location'],
      ['postgresql://u:secret@127.0.0.1:99999/x', 'WRONG_TYPE location'],
      ['postgresql://u:top@secret@127.0.0.1:1/x', 'UNREADABLE_FILE location'],
      ['sqlite:///data/%zz', 'WRONG_TYPE location'],
    ])('at %s is refused without its password', async (location, expected) => {
      const error = await service.refusal('POST', '/data/stores', { name: 'x', kind: 'database', location });
      expect(listFindings(error)).toEqual([expected]);
      expect(JSON.stringify(error)).not.toContain('secret');
      expect(
        JSON.stringify(await service.refusal('POST', '/data/stores', { name: 'x', kind: 'folder', location })),
      ).not.toContain('secret');
    });

    test('whose URL is in a wrong field is refused without its password', async () => {
      const error = await service.refusal('POST', '/data/stores', {
        name: 'x',
        kind: 'database',
        location: ['postgresql://u:secret@127.0.0.1/x'],
      });
      expect(listFindings(error)).toEqual(['WRONG_TYPE location']);
      expect(JSON.stringify(error)).not.toContain('secret');
    });

    test('is refused for a registered file, whatever the path to it', async () => {
      const path = join(service.root, 'same.db');
      const database = new sqlite.Database(path);
      database.exec("CREATE TABLE market (identifier, date, CLOSE); INSERT INTO market VALUES ('A', '2024-01-02', 1)");
      database.close();
      const create = (name: string, location: string) =>
        service.ask<DataStore & { error?: { code: string } }>('POST', '/data/stores', {
          name,
          kind: 'database',
          location,
        });
      expect((await create('Same', `sqlite://${service.root}/./same.db`)).body.location).toBe(`sqlite://${path}`);
      expect((await create('Other', `sqlite://${service.root}/%73ame.db`)).body.error?.code).toBe('FOLDER_REGISTERED');
    });
  });
}
