import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { arrayBuffer } from 'node:stream/consumers';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { restoreCluster } from '#cli/commands/home.js';
import { openHomeLocation } from '#cli/commands/storage-copy.js';
import { readSettings } from '#cli/settings/settings.js';
import { createS3Client } from '#store/s3/client.js';
import { openCuttingProxy } from '../../postgresql/cutting-proxy.js';
import { makeLeastRole } from '../../postgresql/least-role.js';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { runToEnd, runHere, startServiceHere } from '../process.js';
import { openCluster, prepare, type RunningCluster } from './running-cluster.js';

describe.skipIf(!hasPostgresql)('the commands of a home on a database and an artifact store', () => {
  let cluster: RunningCluster;
  let base: string;
  const drops: (() => Promise<void>)[] = [];
  let expected: unknown;
  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'divisor-commands-'));
    cluster = await openCluster();
    await cluster.startFront(['--workers', '1']); // this front runs the heavy job
    await prepare(cluster.frontEnd, ['EVEN']);
    const { body } = await cluster.frontEnd.ask<{ job_id: string }>('POST', '/analytics/EVEN/backtest', {});
    await cluster.frontEnd.waitForJob(body.job_id);
    expected = await readShownBy(cluster.frontEnd.url());
  });
  afterAll(async () => {
    await cluster?.close();
    for (const drop of drops) await drop();
    await rm(base, { recursive: true, force: true });
  });

  /** Returns responses of a service. They must not depend on where its data is stored. */
  async function readShownBy(url: string): Promise<unknown> {
    const paths = ['/analytics/EVEN/levels', '/indices/EVEN', '/indices/EVEN/versions', '/jobs'];
    return Promise.all(paths.map(async (path) => (await fetch(`${url}${path}`)).json()));
  }

  /** Creates another database and another folder for results. */
  async function createOtherStorage(name: string): Promise<Record<string, string>> {
    const { url, drop } = await openTestDatabase();
    drops.push(drop);
    return { DATABASE_URL: url, DIVISOR_ARTIFACTS: `file://${join(base, name)}` };
  }

  /** Checks that a service on the given storage responds as the cluster does and can refresh its managed store. */
  async function assertServes(environment: Record<string, string>, home: string): Promise<void> {
    const { url, stop } = await startServiceHere(home, [], environment);
    try {
      expect(await readShownBy(url)).toEqual(expected);
      const refreshedAnswer = await fetch(`${url}/data/stores/market/refresh`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"until":"2024-07-05"}',
      });
      const { job_id: jobId } = (await refreshedAnswer.json()) as { job_id: string };
      const readJob = async () => (await (await fetch(`${url}/jobs/${jobId}`)).json()) as { status: string };
      await expect.poll(async () => (await readJob()).status).toBe('succeeded');
    } finally {
      await stop();
    }
  }

  const listParts = (out: string): Record<string, unknown>[] =>
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  test('verify reads every object, and reports the documents that refer to a damaged one', async () => {
    const otherEnvironment = { ...cluster.environment, DIVISOR_HOME: join(base, 'none') };
    const intactOutcome = await runHere(['verify', '--json'], otherEnvironment);
    expect(intactOutcome.status).toBe(0);
    expect(listParts(intactOutcome.out).find(({ part }) => part === 'artifacts')).toMatchObject({ damaged: [] });
    const [object] = await cluster.query<{ name: string }>(
      `SELECT artifacts[1] AS name FROM divisor.documents WHERE kind = 'run'`,
    );
    const client = createS3Client(cluster.s3.access);
    const bytes = new Uint8Array((await client.get(object!.name, ({ body }) => arrayBuffer(body)))!);
    await client.put(object!.name, Uint8Array.of(1), 'a'.repeat(64)).catch(() => {});
    const damagedOutcome = await runHere(['verify', '--json'], cluster.environment);
    expect([damagedOutcome.status, damagedOutcome.out.includes(object!.name)]).toEqual([1, true]);
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');
    await client.put(object!.name, bytes, digest);
    expect((await runHere(['verify', '--json'], cluster.environment)).status).toBe(0);
  });

  test('doctor, config, keys and nodes accept a database and an artifact store, and show no password', async () => {
    const { DATABASE_URL, DIVISOR_ARTIFACTS, ...access } = cluster.environment;
    const flags = ['--database', DATABASE_URL!, '--artifacts', DIVISOR_ARTIFACTS!];
    const homeFlags = ['--home', join(base, 'keys')];
    const outputs = [];
    for (const words of [['doctor', '--port', '0', '--json'], ['config'], ['keys', 'list', ...homeFlags]])
      outputs.push(await runHere([...words, ...flags], access));
    expect(outputs.map(({ status }) => status)).toEqual([0, 0, 0]);
    expect(outputs[0]!.out).toContain('Results can be written, read and removed');
    expect(outputs[0]!.out).toMatch(
      /rights to serve\. It occupies \d+ MiB\..*Documents refer to \d+ results? of \d+ MiB\./s,
    );
    for (const { out } of outputs) expect(out).not.toContain(new URL(DATABASE_URL!).password);
    expect((await runHere(['nodes', '--json'], cluster.environment)).out).toContain('"role":"service"');
    const countRemovers = async () =>
      (await runHere(['nodes', '--json'], cluster.environment)).out.split('"removes_orphans":true').length - 1;
    await expect.poll(countRemovers).toBe(1);
    const doctorWords = ['doctor', '--port', '0', '--home', join(base, 'doctor'), ...flags];
    const nowhere = await runHere(doctorWords, { ...access, AWS_ENDPOINT_URL_S3: 'nowhere' });
    expect([nowhere.status, nowhere.out.includes('AWS_ENDPOINT_URL_S3 must be a URL')]).toEqual([1, true]);
    // A separate process has no other open handle. So nothing else keeps it alive while it waits between two attempts.
    const unreachableOutcome = await runToEnd(doctorWords, { ...access, AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1' });
    expect([
      unreachableOutcome.status,
      unreachableOutcome.out.includes('cannot be reached at http://127.0.0.1:1'),
    ]).toEqual([1, true]);
  });

  test('keys creates no artifact store and no home; nodes and doctor report a missing privilege and mention only existing commands', async () => {
    const { url, name: role, drop } = await openTestDatabase();
    drops.push(drop);
    const [place, home] = [join(base, 'unclaimed'), join(base, 'unmade')];
    const ownEnvironment = { DATABASE_URL: url, DIVISOR_ARTIFACTS: `file://${place}`, DIVISOR_HOME: home };
    const doctorWords = ['doctor', '--port', '0', '--json'];
    const bareOutcome = await runHere(doctorWords, ownEnvironment);
    expect([bareOutcome.status, bareOutcome.out.includes('run divisor migrate')]).toEqual([1, true]);
    expect(bareOutcome.out).not.toMatch(/relation|ENOENT/);
    expect((await runHere(['migrate'], ownEnvironment)).status).toBe(0);
    expect((await runHere(['keys', 'create', '--name', 'ci'], ownEnvironment)).status).toBe(0);
    expect((await runHere(['keys', 'list'], ownEnvironment)).out).toContain('ci');
    expect([existsSync(place), existsSync(home)]).toEqual([false, false]);

    const client = new Client(url);
    await client.connect();
    const insertSilentNode = (node: string) =>
      client.query(`INSERT INTO divisor.nodes VALUES ($1, now(), now() - interval '1 hour', $2)`, [
        node,
        JSON.stringify({ role: node, version: '1', places: { heavy: 0, light: 4 }, market: null, stale: 0 }),
      ]);
    for (const nodeName of ['command', 'worker']) await insertSilentNode(nodeName);
    expect(listParts((await runHere(['nodes', '--json'], ownEnvironment)).out)).toMatchObject([
      { node: 'worker', is_lost: true },
    ]);
    const leastUrl = await makeLeastRole(client, { url, role, schema: 'divisor' });
    await client.query(`REVOKE SELECT ON divisor.parts FROM "${new URL(leastUrl).username}"`);
    await client.end();
    const missingRights = /lacks rights in the schema divisor, .*: SELECT on parts\./;
    const nodes = await runHere(['nodes'], { ...ownEnvironment, DATABASE_URL: leastUrl });
    expect([nodes.status, nodes.err]).toEqual([78, expect.stringMatching(missingRights)]);
    expect((await runHere(doctorWords, { ...ownEnvironment, DATABASE_URL: leastUrl })).out).toMatch(missingRights);
  });

  test('no command accepts a home while the environment names a database and an artifact store', async () => {
    const home = join(base, 'meant');
    for (const words of [
      ['verify'],
      ['restore', base],
      ['backup', join(base, 'x')],
      ['keys', 'list'],
      ['index', 'list'],
    ]) {
      const { status, out, err } = await runHere([...words, '--home', home], cluster.environment);
      expect([status, out], words[0]).toEqual([64, '']);
      expect(err).toContain('--home is set, but the environment variables DATABASE_URL and DIVISOR_ARTIFACTS');
    }
  });

  test('backup copies what services write, and restore puts it into another database or a home', async () => {
    const folder = join(base, 'backup');
    expect(await runHere(['backup', folder, '--json'], cluster.environment)).toMatchObject({ status: 0 });
    expect((await runHere(['verify', '--backup', folder])).status).toBe(0);
    expect((await readdir(folder)).toSorted()).toEqual(['artifacts', 'documents', 'manifest.json', 'stores']);
    const other = await createOtherStorage('restored');
    expect(await runHere(['restore', folder, '--json'], other)).toMatchObject({ status: 0 });
    expect(await runHere(['restore', folder], other)).toMatchObject({ status: 78 });
    await assertServes(other, join(base, 'restored-home'));
    const home = join(base, 'as-home');
    expect((await runHere(['restore', folder, '--home', home, '--json'])).status).toBe(0);
    await assertServes({}, home);
  });

  test('an interrupted restore or copy cannot be served, and can be run again', async () => {
    const folder = join(base, 'backup');
    const [target, home] = [await createOtherStorage('cut'), join(base, 'cut-home')];
    const { settings } = readSettings([], target);
    const ownEnvironment = { ...target, DIVISOR_HOME: join(base, 'cut-own') };
    const cutAt = (kind: string) => (message: string) => {
      if (message === kind) throw new Error(`cut before ${kind}`);
    };
    for (const kind of ['run', 'job', 'audit-seal']) {
      const cut = restoreCluster({ backup: folder, settings, onProgress: cutAt(kind) });
      await expect(cut).rejects.toThrow(`cut before ${kind}`);
      const commands = [['serve', '--port', '0'], ['verify']];
      if (kind === 'job')
        commands.push(['backup', join(base, 'y')], ['keys', 'list'], ['copy', '--to', join(base, 'z')]);
      for (const words of commands) {
        const { status, err } = await runHere(words, ownEnvironment);
        expect([words[0], kind, status], err).toEqual([words[0], kind, 78]);
        expect(err).toContain('run `divisor restore` or `divisor copy` again');
      }
    }
    // If a process is killed during a write, it leaves a file with the suffix `.new`.
    const [killed] = await readdir(join(folder, 'artifacts'));
    await rename(join(base, 'cut', killed!), join(base, 'cut', `${killed!}.new`));
    expect(await runHere(['restore', folder], ownEnvironment)).toMatchObject({ status: 0 });
    expect((await runHere(['verify'], ownEnvironment)).status).toBe(0);

    const place = await openHomeLocation(home, { ms: Date.now() }, true);
    expect(await place.begin()).toBe(false);
    await place.documents.transaction((tx) => tx.put('index', 'HALF', {}));
    await place.close(false);
    expect(await runHere(['serve', '--home', home, '--port', '0'])).toMatchObject({ status: 78 });
    expect(await runHere(['copy', '--to', home], target)).toMatchObject({ status: 0 });
    expect((await runHere(['verify', '--home', home])).status).toBe(0);
    await assertServes({}, home);
    await assertServes(ownEnvironment, ownEnvironment.DIVISOR_HOME);
  });

  test('copy and restore report the services that block them', async () => {
    for (const words of [
      ['copy', '--to', join(base, 'in-the-way')],
      ['restore', join(base, 'backup')],
    ])
      expect(await runHere(words, cluster.environment)).toMatchObject({
        status: 75,
        err: 'divisor: Services or commands use the database: stop the services first.\n',
      });
  });

  test('a front without its database reports health and metrics, and is not ready', async () => {
    const proxy = await openCuttingProxy(cluster.url);
    const { url, stop } = await startServiceHere(join(base, 'cut-off'), [], {
      ...cluster.environment,
      DATABASE_URL: proxy.url,
    });
    const fetchStatus = async (path: string) => (await fetch(`${url}${path}`)).status;
    try {
      const { jobs, limits } = (await (await fetch(`${url}/health`)).json()) as { jobs: unknown; limits: unknown };
      expect(limits).toMatchObject({ HEARTBEAT_TIMEOUT_SECONDS: 10 }); // the default lease
      expect(await fetchStatus('/health/ready')).toBe(200);
      await proxy.close();
      await expect.poll(() => fetchStatus('/health/ready')).toBe(503);
      const check = { name: 'database', ok: false, warning: false, message: 'The database cannot be reached.' };
      const answer = await fetch(`${url}/health`);
      expect([answer.status, await answer.json()]).toMatchObject([
        200,
        { status: 'degraded', jobs, checks: expect.arrayContaining([check]) },
      ]);
      const metricsText = await (await fetch(`${url}/metrics`)).text();
      expect([metricsText.includes('divisor_build_info{'), metricsText.includes('divisor_jobs{')]).toEqual([
        true,
        false,
      ]);
    } finally {
      await stop();
    }
  });

  test('copy includes results and stores, to a home and to a database', async () => {
    const folder = join(base, 'backup');
    const [home, first, second] = [
      join(base, 'copied'),
      await createOtherStorage('first'),
      await createOtherStorage('second'),
    ];
    expect((await runHere(['restore', folder], first)).status).toBe(0);
    const copyOutcome = await runHere(['copy', '--to', home, '--json'], first);
    expect(copyOutcome.status).toBe(0);
    expect(listParts(copyOutcome.out).find(({ kind }) => kind === 'artifacts')).toMatchObject({ unreadable: [] });
    expect((await runHere(['verify', '--home', home])).status).toBe(0);
    expect((await runHere(['copy', '--from', home, '--json'], second)).status).toBe(0);
    expect((await runHere(['verify'], { ...second, DIVISOR_HOME: join(base, 'none') })).status).toBe(0);
    await assertServes(second, join(base, 'second-home'));
  });
});
