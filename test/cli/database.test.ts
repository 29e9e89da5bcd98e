import { existsSync, readFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLUGIN_EXAMPLES } from '#contract/plugins.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import { hasPostgresql, openTestDatabase } from '../postgresql/shared-postgresql.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { INDEX, MARKET } from './even-index.js';
import { runHere, startService, startServiceHere } from './process.js';

const FLAGS = ['--log-level', 'info', '--workers', '1', '--drain-ms', '0'];

async function ask(url: string, method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const init =
    body === undefined
      ? { method }
      : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return (await (await fetch(`${url}${path}`, init)).json()) as Record<string, unknown>;
}

async function runJob(url: string, path: string, body: unknown): Promise<void> {
  let status = await ask(url, 'POST', path, body);
  while (status['status'] === 'pending' || status['status'] === 'running')
    status = await ask(url, 'GET', `/jobs/${String(status['job_id'])}?wait=30`);
  expect(status).toMatchObject({ status: 'succeeded' });
}

/** Creates a generated market and an index on a service. @returns the levels of the index */
async function createLevels(url: string): Promise<Record<string, unknown>> {
  await runJob(url, '/data/synthetic', MARKET);
  await ask(url, 'PUT', '/indices/EVEN', INDEX);
  await runJob(url, '/analytics/EVEN/backtest', {});
  return ask(url, 'GET', '/analytics/EVEN/levels');
}

/** Paths whose content a copy must keep: an index with two runs, a published log and two versions of the data. */
const KEPT_PATHS = [
  '/analytics/EVEN/levels',
  '/indices/EVEN',
  '/indices/EVEN/versions',
  '/indices/EVEN/versions/1',
  '/indices/EVEN/versions/diff?from=1&to=2',
  '/data/stores/market/versions',
  '/data/stores/market/versions/diff?from=1&to=2',
  '/data/stores/market/document/versions',
  '/data/prices/JIJN?as_known_on=1',
  '/analytics/EVEN/runs',
  '/analytics/EVEN/published',
  '/analytics/EVEN/published/keys',
];

/** Bodies of stored documents of every family, by their address. */
const STORED: Readonly<Record<string, object>> = {
  '/data/watchlists/banks': { name: 'Banks', identifiers: ['JIJN'] },
  '/strategies/follow': { id: 'follow', name: 'Follow', index_id: 'EVEN' },
  '/optimise/constraint-sets/free': { id: 'free', name: 'Free', constraints: [] },
  '/reports/templates/PLAIN': { template_id: 'PLAIN', name: 'Plain', blocks: [{ kind: 'text', text: 'Words.' }] },
  '/procedures/cessation': { name: 'Cessation', kind: 'cessation', text: 'After six months.', indices: ['EVEN'] },
  '/plugins/near-high': PLUGIN_EXAMPLES['near-high'],
  '/schedules/close': {
    name: 'Close',
    enabled: false,
    indices: ['EVEN'],
    calendar: 'XNYS',
    at: '18:30',
    starts_on: '2024-06-28',
    steps: [{ type: 'run' }],
  },
  '/clients/ACME': { name: 'Acme', entitlements: [{ indices: ['EVEN'] }], targets: [] },
  '/calendars/XTKS/closures': { changes: [{ date: '2023-07-03', session: 'closed', reason: 'Storm' }] },
};

/** Every answer that a copy must keep, byte for byte. */
const ALL_PATHS = [...KEPT_PATHS, ...Object.keys(STORED), '/data/watchlists/banks/versions', '/audit', '/jobs'];

/** Returns status, ETag and body of every answer, by its path. */
async function readAnswers(url: string): Promise<Record<string, readonly unknown[]>> {
  const answers: Record<string, readonly unknown[]> = {};
  for (const path of ALL_PATHS) {
    const response = await fetch(`${url}${path}`);
    answers[path] = [response.status, response.headers.get('etag'), await response.text()];
  }
  return answers;
}

/** Creates the stored state behind `KEPT_PATHS` on a service that has already computed levels. */
async function createHistory(url: string): Promise<void> {
  await ask(url, 'POST', '/analytics/EVEN/publish', {});
  await runJob(url, '/data/stores/market/refresh', { until: '2024-07-05' });
  await ask(url, 'PUT', '/indices/EVEN', { ...INDEX, name: 'Even again' });
  await runJob(url, '/analytics/EVEN/backtest', { transaction_cost_bps: 5 });
  for (const [path, body] of Object.entries(STORED))
    expect(await ask(url, 'PUT', path, body), path).not.toHaveProperty('error');
}

async function listHistories(url: string): Promise<string[]> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM divisor.documents WHERE kind = 'history' ORDER BY id`,
  );
  await client.end();
  return rows.map(({ id }) => id);
}

describe.skipIf(!hasPostgresql)('a service with its documents in PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>;
  beforeAll(async () => {
    database = await openTestDatabase();
  });
  afterAll(() => database?.drop());

  test('computes the same results, keeps them after a kill, and excludes other services from the database', async () => {
    const [home, embeddedHome, otherHome] = [
      await createTemporaryFolder(),
      await createTemporaryFolder(),
      await createTemporaryFolder(),
    ];
    const environment = { DATABASE_URL: database.url };
    await expect(startServiceHere(home, [], environment)).rejects.toMatchObject({
      exitStatus: 78,
      message: 'The database has no tables of Divisor: run divisor migrate.',
    });
    expect(await runHere(['migrate', '--database', database.url])).toMatchObject({
      status: 0,
      out: `The tables were migrated to version ${PROTOCOL}.\n`,
    });

    const embeddedService = await startServiceHere(embeddedHome);
    const expected = await createLevels(embeddedService.url);
    await embeddedService.stop();
    const first = await startService(home, [...FLAGS, '--database', database.url]);
    expect(await createLevels(first.url)).toEqual(expected);
    // A job wrote the store, and a request wrote the index. Each has its first version.
    expect(await listHistories(database.url)).toEqual(['index/EVEN', 'store/market']);
    await expect(startServiceHere(otherHome, [], environment)).rejects.toMatchObject({ exitStatus: 75 });
    expect(existsSync(`${home}/documents/data.mdb`)).toBe(false);
    const secret = new URL(database.url).password;
    if (process.platform === 'linux')
      expect(readFileSync(`/proc/${first.child.pid}/cmdline`, 'utf8')).not.toContain(secret);
    first.child.kill('SIGKILL');
    await first.ended;

    const second = await startServiceHere(home, [], environment);
    expect(await ask(second.url, 'GET', '/analytics/EVEN/levels')).toEqual(expected);
    expect(await ask(second.url, 'GET', '/jobs/backtest:EVEN')).toMatchObject({ status: 'succeeded' });
    await second.stop();
    const outcome = await runHere(['verify', '--home', home, '--json'], environment);
    expect(outcome).toMatchObject({ status: 0 });
    expect(outcome.out).toContain('"artifacts"');
    expect(first.err()).not.toContain(secret);
  });

  test('takes over the content of a home, and a home takes it back, with all times and hashes', async () => {
    const [home, restoredHome] = [await createTemporaryFolder(), await createTemporaryFolder()];
    const ownDatabase = await openTestDatabase();
    const embeddedService = await startServiceHere(home);
    const expected = await createLevels(embeddedService.url);
    await createHistory(embeddedService.url);
    const before = await readAnswers(embeddedService.url);
    for (const [path, [status]] of Object.entries(before)) expect(status, path).toBe(200);
    const [newest, first] = (await ask(embeddedService.url, 'GET', '/analytics/EVEN/runs'))['runs'] as {
      run_id: string;
    }[];
    const earlierPath = `/analytics/EVEN/levels?run_id=${first!.run_id}`;
    expect(await ask(embeddedService.url, 'GET', earlierPath)).toMatchObject({ levels: expected['levels'] });
    await embeddedService.stop();
    expect(await runHere(['copy', '--from', home, '--to', ownDatabase.url])).toMatchObject({ status: 0 });
    expect(await runHere(['copy', '--from', restoredHome, '--to', ownDatabase.url])).toMatchObject({ status: 78 });
    const sharedService = await startServiceHere(home, [], { DATABASE_URL: ownDatabase.url });
    expect(await readAnswers(sharedService.url)).toEqual(before);
    await runJob(sharedService.url, '/analytics/EVEN/backtest', {}); // queued after the copied jobs
    expect(((await ask(sharedService.url, 'GET', '/jobs'))['jobs'] as { job_id: string }[])[0]!.job_id).toBe(
      'backtest:EVEN',
    );
    const after = await readAnswers(sharedService.url);
    await sharedService.stop();
    expect(await runHere(['copy', '--to', restoredHome], { DATABASE_URL: ownDatabase.url })).toMatchObject({
      status: 0,
    });
    for (const folder of ['artifacts', 'stores'])
      await cp(`${home}/${folder}`, `${restoredHome}/${folder}`, { recursive: true });
    const secondService = await startServiceHere(restoredHome);
    expect(await readAnswers(secondService.url)).toEqual(after);
    expect(await ask(secondService.url, 'GET', earlierPath)).toMatchObject({ levels: expected['levels'] });
    await runJob(secondService.url, '/analytics/EVEN/runs/diff', { from: first!.run_id, to: newest!.run_id });
    await secondService.stop();
    expect((await runHere(['verify', '--home', restoredHome])).status).toBe(0);
    await ownDatabase.drop();
  });

  test('is readable by the commands for a home', async () => {
    const home = await createTemporaryFolder();
    const environment = { DATABASE_URL: database.url, DIVISOR_HOME: home };
    expect(await runHere(['keys', 'create', '--name', 'ci'], environment)).toMatchObject({ status: 0 });
    expect((await runHere(['keys', 'list'], environment)).out).toContain('ci');
    const { out } = await runHere(['doctor', '--port', '0', '--json'], environment);
    const match = out.split('\n').find((line) => line.includes('"documents"'));
    expect(match).toContain('every checksum is correct');
    expect(await runHere(['backup'], environment)).toMatchObject({ status: 78 });
    const configText = (await runHere(['config'], environment)).out;
    expect(configText).toContain('tester:***@');
    expect(configText).not.toContain(new URL(database.url).password);
  });
});
