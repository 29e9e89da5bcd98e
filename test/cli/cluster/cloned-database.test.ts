import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runToEnd, runHere, startServiceHere } from '../process.js';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { prepare } from './running-cluster.js';
import { runService, type RunningService } from '../../services/running-service.js';

describe.skipIf(!hasPostgresql)('a copy of the database of a live service', () => {
  const drops: (() => Promise<void>)[] = [];
  let base: string;
  let liveService: RunningService;
  let isLiveClosed = false;
  let environment: Record<string, string>;
  let clone: Record<string, string>;

  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'divisor-clone-'));
    const { url, drop } = await openTestDatabase();
    drops.push(drop);
    environment = { DATABASE_URL: url, DIVISOR_ARTIFACTS: `file://${join(base, 'results')}` };
    expect((await runHere(['migrate'], environment)).status).toBe(0);
    liveService = await runService(['--workers', '1'], environment);
    await prepare(liveService, ['EVEN']);
    const { body } = await liveService.ask<{ job_id: string }>('POST', '/analytics/EVEN/backtest', {});
    await liveService.waitForJob(body.job_id);
    clone = { ...environment, DATABASE_URL: await copyDatabase(url) };
  });
  afterAll(async () => {
    if (!isLiveClosed) await liveService?.close();
    for (const drop of drops) await drop();
    await rm(base, { recursive: true, force: true });
  });

  /** Copies the tables of a database into a new database. A restored dump would have the same content. */
  async function copyDatabase(url: string): Promise<string> {
    const target = await openTestDatabase();
    drops.push(target.drop);
    expect((await runHere(['migrate'], { DATABASE_URL: target.url })).status).toBe(0);
    const [from, to] = [new Client(url), new Client(target.url)];
    await from.connect();
    await to.connect();
    await to.query('DELETE FROM divisor.documents'); // a migrated database has the mark of its form
    const { rows } = await from.query<Record<string, unknown>>('SELECT * FROM divisor.documents');
    for (const row of rows) {
      const [names, values] = [Object.keys(row), Object.values(row)];
      const placeholders = names.map((_, i) => `$${i + 1}`).join(', ');
      await to.query(`INSERT INTO divisor.documents (${names.join(', ')}) VALUES (${placeholders})`, values);
    }
    await from.end();
    await to.end();
    return target.url;
  }

  /**
   * Returns the names of the results in a folder. Excludes the ownership marker, because the service renews it during
   * the test.
   */
  const listFiles = async (name: string): Promise<string[]> =>
    (await readdir(join(base, name))).filter((file) => file.endsWith('.art')).toSorted();
  const readLevels = async (url: string): Promise<unknown> => (await fetch(`${url}/analytics/EVEN/levels`)).json();

  test('is refused with status 78 and the possible solutions, and no file of the live service changes', async () => {
    const before = await listFiles('results');
    const startedService = startServiceHere(join(base, 'home'), [], clone);
    await expect(startedService).rejects.toMatchObject({
      exitStatus: 78,
      message: /belongs to the database .*divisor adopt --new-place URL.*--read-only on/,
    });
    expect(await listFiles('results')).toEqual(before);
  });

  test('serves its results without changing anything by --read-only', async () => {
    const before = await listFiles('results');
    const { url, stop } = await startServiceHere(join(base, 'reading'), ['--read-only', 'on'], clone);
    try {
      expect(await readLevels(url)).toEqual(await readLevels(liveService.url()));
      const headers = { 'content-type': 'application/json' };
      for (const [method, path] of [
        ['DELETE', '/indices/EVEN'],
        ['POST', '/analytics/EVEN/backtest'],
      ] as const) {
        const refusal = await fetch(`${url}${path}`, { method, headers });
        expect([refusal.status, await refusal.json()]).toMatchObject([403, { error: { code: 'READ_ONLY' } }]);
      }
    } finally {
      await stop();
    }
    expect(await listFiles('results')).toEqual(before);
  });

  test('gets a separate artifact store by adopt --new-place, and both are served afterwards', async () => {
    const before = await listFiles('results');
    const ownPlace = `file://${join(base, 'own')}`;
    const adoptedOutcome = await runHere(['adopt', '--new-place', ownPlace, '--json'], clone);
    expect([adoptedOutcome.status, JSON.parse(adoptedOutcome.out)]).toMatchObject([0, { missing: [] }]);
    expect((JSON.parse(adoptedOutcome.out) as { named: number }).named).toBeGreaterThan(0);
    const { url, stop } = await startServiceHere(join(base, 'home'), [], { ...clone, DIVISOR_ARTIFACTS: ownPlace });
    try {
      expect(await readLevels(url)).toEqual(await readLevels(liveService.url()));
    } finally {
      await stop();
    }
    expect(await listFiles('results')).toEqual(before);
    await expect(startServiceHere(join(base, 'home'), [], clone)).rejects.toMatchObject({ exitStatus: 78 });
  });

  test('adopt is refused if no option states how to adopt, and for a place that is in use', async () => {
    const placelessOutcome = await runHere(['adopt'], clone);
    expect(placelessOutcome).toMatchObject({
      status: 64,
      err: expect.stringContaining('either --take-over or --new-place'),
    });
    const ownEnvironment = { ...clone, DIVISOR_ARTIFACTS: `file://${join(base, 'own')}` };
    const busyOutcome = await runHere(['adopt', '--new-place', environment['DIVISOR_ARTIFACTS']!], ownEnvironment);
    expect(busyOutcome).toMatchObject({ status: 78, err: expect.stringContaining('choose an empty folder or prefix') });
  });

  test('of an earlier time serves the results of that time after adopt --take-over', async () => {
    const earlierEnvironment = { ...environment, DATABASE_URL: await copyDatabase(environment['DATABASE_URL']!) };
    const [before, knownLevels] = [await listFiles('results'), await readLevels(liveService.url())];
    expect((await liveService.ask('DELETE', '/indices/EVEN')).status).toBeLessThan(300);
    isLiveClosed = true;
    await liveService.close();
    const after = await listFiles('results');
    expect(after.length).toBeLessThan(before.length);
    expect(await listFiles('results/trash')).toEqual(
      expect.arrayContaining(before.filter((name) => !after.includes(name))),
    );
    const adoptedOutcome = await runToEnd(['adopt', '--take-over', '--json'], earlierEnvironment);
    expect([adoptedOutcome.status, JSON.parse(adoptedOutcome.out)]).toMatchObject([0, { missing: [] }]);
    const { url, stop } = await startServiceHere(join(base, 'earlier'), [], earlierEnvironment);
    try {
      expect(await readLevels(url)).toEqual(knownLevels);
    } finally {
      await stop();
    }
  });
});
