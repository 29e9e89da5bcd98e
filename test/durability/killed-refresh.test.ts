import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ScheduleDay } from '#domain/outputs/daily-plans.js';
import { startService, type ListeningProcess } from '../cli/process.js';
import { hasPostgresql, openTestDatabase, type TestDatabase } from '../postgresql/shared-postgresql.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { waitFor } from '../waiting.js';
import { createEqualIndex } from '../equal-index.js';

const SESSIONS = ['2023-06-01', '2023-06-02', '2023-06-05', '2023-06-06'];
const DATE = SESSIONS.at(-1)!;

/** Store of a database whose table is not read to its end until `view` replaces the view. */
const SLOW_VIEW = `CREATE OR REPLACE VIEW daily AS SELECT * FROM bars
  UNION ALL SELECT 'C', DATE '${DATE}', (SELECT 30.0::float8 FROM pg_sleep(600))`;
const VIEW = 'CREATE OR REPLACE VIEW daily AS SELECT * FROM bars';

describe.skipIf(!hasPostgresql)('a service that is killed in the refresh step of a day', () => {
  let database: TestDatabase;
  let client: Client;
  let service: ListeningProcess | undefined;
  let home: string;

  const start = async () => {
    service = await startService(home, ['--workers', '1', '--database-hosts', new URL(database.url).host]);
  };
  async function ask<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(service!.url + path, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }
  const readDay = () => ask<ScheduleDay>('GET', `/schedules/close/days/${DATE}`);

  beforeAll(async () => {
    database = await openTestDatabase();
    client = new Client(database.url);
    await client.connect();
    await client.query('CREATE TABLE bars (identifier text, date date, "CLOSE" float8)');
    const rows = SESSIONS.slice(0, -1).map((day, i) => `('A', '${day}', ${10 + i}), ('B', '${day}', ${20 + i})`);
    await client.query(`INSERT INTO bars VALUES ${rows.join(', ')}`);
    await client.query(VIEW);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  test('ends the day with this refresh after its restart, before the next attempt is due', async () => {
    home = join(await createTemporaryFolder(), 'home');
    onTestFinished(async () => {
      service?.child.kill('SIGKILL');
      await service?.ended;
    });
    await start();
    await ask('POST', '/data/stores', {
      store_id: 'desk',
      name: 'desk',
      kind: 'database',
      location: database.url,
      tables: { market: 'daily' },
      activate: true,
    });
    await ask('PUT', '/indices/ONE', createEqualIndex('ONE', { base_date: SESSIONS[0] }));
    await ask('PUT', '/schedules/close', {
      name: 'Close',
      indices: ['ONE'],
      calendar: 'XNYS',
      at: '18:30',
      starts_on: DATE,
      catch_up: 0,
      retry_minutes: 1440,
      steps: [{ type: 'refresh', store_id: 'desk' }, { type: 'run' }],
    });
    await client.query(`INSERT INTO bars VALUES ('A', '${DATE}', 13), ('B', '${DATE}', 23)`);
    await client.query(SLOW_VIEW);
    const running = ask('POST', `/schedules/close/days/${DATE}/run`, {}).catch(() => {}); // the service may be killed first
    await waitFor(async () => {
      expect((await ask<{ status: string }>('GET', '/jobs/refresh:desk')).status).toBe('running');
      expect((await readDay()).steps[0]).toMatchObject({ state: 'running', items: [{ state: 'waiting' }] });
    });
    service!.child.kill('SIGKILL');
    await Promise.all([service!.ended, running]);
    await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await client.query(VIEW);
    await start();
    const day = await waitFor(async () => {
      const current = await readDay();
      expect(current.state).not.toBe('running');
      return current;
    });
    expect(day).toMatchObject({ state: 'done', steps: [{ type: 'refresh', state: 'done' }, { state: 'done' }] });
    expect(await ask('GET', '/data/stores/desk')).toMatchObject({ end: DATE });
  });
});
