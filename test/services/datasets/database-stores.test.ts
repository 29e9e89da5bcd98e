import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DataStore } from '#contract/stores.js';
import { hasPostgresql, startPostgresql, type PostgresqlServer } from '../../postgresql/postgresql-server.js';
import { runService, type RunningService } from '../running-service.js';

/** View with later days. The server is killed while it processes the last day. */
const LATER_VIEW = `CREATE VIEW daily AS
  SELECT 'N' || i AS identifier, DATE '2025-01-02' AS date, 1.0::float8 AS "CLOSE" FROM generate_series(1, 2000) i
  UNION ALL SELECT 'A', DATE '2025-01-03', (SELECT 1.0::float8 FROM pg_sleep(600))`;

describe.skipIf(!hasPostgresql)('a store in PostgreSQL', () => {
  let service: RunningService;
  let database: PostgresqlServer;
  beforeAll(async () => {
    database = await startPostgresql();
    service = await runService(['--database-hosts', new URL(database.url).host]);
    await database.query('CREATE TABLE daily (identifier text, date date, "CLOSE" float8)');
    await database.query("INSERT INTO daily VALUES ('A', '2024-01-02', 10), ('B', '2024-01-02', 20)");
  });
  afterAll(async () => {
    await service.close();
    await database.stop();
  });

  const create = (id: string, market: string, activate = false) =>
    service.ask<DataStore>('POST', '/data/stores', {
      store_id: id,
      name: id,
      kind: 'database',
      location: database.url,
      tables: { market },
      activate,
    });

  test('is served and refreshed, and never reveals its password', async () => {
    const { status, body } = await create('daily', 'daily', true);
    expect([status, body.identifiers, body.active, body.size_bytes, body.files]).toEqual([201, 2, true, null, []]);
    await database.query("INSERT INTO daily VALUES ('A', '2024-01-03', 11)");
    await service.ask('POST', '/data/stores/daily/refresh');
    const refreshJob = await service.waitForJob('refresh:daily');
    expect(refreshJob).toMatchObject({ status: 'succeeded', result: { rows_added: 1, end: '2024-01-03' } });
    expect(JSON.stringify([body, refreshJob, (await service.ask('GET', '/data/stores')).body])).not.toContain(
      'secret-of-the-test',
    );
  });

  test('with a password that contains delimiters of URLs is shown without any part of it', async () => {
    const location = database.url.replace('secret-of-the-test', 'first@second%2Fthird');
    const { status, body } = await service.ask<DataStore>('POST', '/data/stores', {
      store_id: 'at',
      name: 'at',
      kind: 'database',
      location,
      tables: { market: 'daily' },
    });
    expect([status, body.location]).toEqual([201, database.url.replace('secret-of-the-test', '***')]);
    expect(
      JSON.stringify([
        (await service.ask('GET', '/data/stores/at')).body,
        (await service.ask('GET', '/data/stores')).body,
      ]),
    ).not.toMatch(/first|second|third/);
    expect((await service.ask('DELETE', '/data/stores/at')).status).toBe(204);
  });

  test('keeps no password in its versions: restoring one requires the password again', async () => {
    const formatLocation = (password: string) => database.url.replace('secret-of-the-test', password);
    const entry = { store_id: 'turns', name: 'turns', kind: 'database', tables: { market: 'daily' } };
    expect(
      (await service.ask('POST', '/data/stores', { ...entry, location: formatLocation('first-turn') })).status,
    ).toBe(201);
    const path = '/data/stores/turns';
    expect((await service.ask('PATCH', path, { source: formatLocation('second-turn') })).status).toBe(200);
    expect((await service.ask('GET', `${path}/document/versions`)).body).toMatchObject({ total: 1 });
    expect((await service.ask('GET', '/audit?kind=store&id=turns')).body).toMatchObject({
      entries: [
        { action: 'created', version: 1 },
        { action: 'updated', version: null },
      ],
    });
    expect((await service.ask('PATCH', path, { name: 'Other' })).status).toBe(200);
    expect(await service.ask('POST', `${path}/document/versions/1/restore`)).toMatchObject({
      status: 200,
      body: { name: 'turns', source: database.url.replace('secret-of-the-test', '***') },
    });
    expect((await service.ask('PATCH', path, { source: null })).status).toBe(200);
    expect(await service.refusal('POST', `${path}/document/versions/1/restore`)).toMatchObject({
      status: 422,
      code: 'VERSION_NOT_RESTORABLE',
    });
    expect((await service.ask('DELETE', path)).status).toBe(204);
    expect(await service.refusal('POST', `${path}/document/versions/1/restore`)).toMatchObject({ status: 422 });
  });

  test('coexists with a second store of other tables, and not of the same tables', async () => {
    await database.query(
      "CREATE TABLE weekly AS SELECT 'W' AS identifier, DATE '2024-01-05' AS date, 3.0::float8 AS \"CLOSE\"",
    );
    const { status, body } = await create('weekly', 'weekly');
    expect([status, body.identifiers]).toEqual([201, 1]);
    expect(await create('again', 'weekly')).toMatchObject({
      status: 409,
      body: { error: { code: 'FOLDER_REGISTERED', detail: { store_id: 'weekly' } } },
    });
    expect((await service.ask('DELETE', '/data/stores/weekly')).status).toBe(204);
  });

  test('whose server dies in the middle of a refresh fails with a reason, and the served version remains', async () => {
    await database.query('DROP TABLE daily');
    await database.query(LATER_VIEW);
    const before = (await service.ask('GET', '/data/prices/A')).body;
    await service.ask('POST', '/data/stores/daily/refresh');
    await expect
      .poll(async () => (await service.ask<{ progress: number }>('GET', '/jobs/refresh:daily')).body.progress, {
        interval: 2,
      })
      .toBeGreaterThan(0);
    database.kill();
    const failedJob = await service.waitForJob('refresh:daily');
    expect(failedJob).toMatchObject({ status: 'failed', error: { code: 'STORE_READ_FAILED' } });
    expect(failedJob.error?.detail).toMatchObject({
      findings: [
        {
          code: 'UNREADABLE_FILE',
          path: 'source',
          message: expect.stringContaining('The database cannot be read') as string,
        },
      ],
    });
    expect(JSON.stringify(failedJob)).not.toContain('secret-of-the-test');
    expect((await service.ask('GET', '/data/prices/A')).body).toEqual(before);
    expect((await service.ask<DataStore>('GET', '/data/stores/daily')).body).toMatchObject({
      active: true,
      status: 'ready',
      end: '2024-01-03',
    });
  });
});
