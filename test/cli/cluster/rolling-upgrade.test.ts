import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { startS3 } from '../../store/s3/s3-service.js';
import { INDEX, MARKET } from '../even-index.js';
import { placesOf } from './running-cluster.js';

/** Checkout of an earlier version, built, with tables that are a step or more behind. */
const OLDER = process.env['OLDER_CHECKOUT'];

if (OLDER === undefined)
  console.log('skipped: an upgrade beside an earlier version, whose built checkout OLDER_CHECKOUT would name');

type Json = Record<string, unknown>;

async function ask(at: string, method: string, path: string, body?: unknown): Promise<Json> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${at}${path}`, {
    method,
    ...(body !== undefined && { headers, body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Json;
}

async function ended(at: string, jobId: unknown): Promise<Json> {
  for (;;) {
    const status = await ask(at, 'GET', `/jobs/${String(jobId)}?wait=10`);
    if (!['pending', 'running'].includes(String(status['status']))) return status;
  }
}

async function submitted(at: string, id: string): Promise<string> {
  await ask(at, 'PUT', `/indices/${id}`, { ...INDEX, id });
  return String((await ask(at, 'POST', `/analytics/${id}/backtest`, {}))['job_id']);
}

const run = async (at: string, id: string): Promise<Json> => ended(at, await submitted(at, id));
const levels = async (at: string, id: string) => (await ask(at, 'GET', `/analytics/${id}/levels`))['levels'];

/** Places that versions share, and processes of any of them on these. */
async function openVersions() {
  const { url, drop } = await openTestDatabase();
  const s3 = await startS3();
  const base = await mkdtemp(join(tmpdir(), 'divisor-rolling-'));
  const environment = { PATH: process.env['PATH'] ?? '', ...placesOf(url, s3) };
  const children: ReturnType<typeof spawn>[] = [];
  const client = new Client(url);
  await client.connect();

  function start(folder: string, words: readonly string[]) {
    const child = spawn(process.execPath, [join(folder, 'dist/src/main.js'), ...words], { env: environment });
    children.push(child);
    let said = '';
    const take = (text: Buffer): void => void (said += String(text));
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    return { child, said: () => said, ended: once(child, 'close').then(([status]) => status as number) };
  }

  return {
    s3,
    base,
    async finished(folder: string, words: readonly string[]) {
      const { said, ended: over } = start(folder, words);
      return { status: await over, said: said() };
    },
    async listening(folder: string, role: string, name: string) {
      const flags = ['--home', join(base, name), '--port', '0', '--drain-ms', '0', '--log-level', 'error'];
      const process = start(folder, [role, ...flags, ...(role === 'worker' ? ['--workers', '1'] : [])]);
      await expect.poll(process.said, { interval: 50 }).toContain('listening on');
      return { ...process, name, url: /listening on (\S+)/.exec(process.said())![1]! };
    },
    /** Processes by name, each with the job that it runs. */
    async running(): Promise<ReadonlyMap<string, string>> {
      const { rows } = await client.query<{ job_id: string; node: string }>(
        `SELECT job_id, node FROM divisor.jobs WHERE status = 'running'`,
      );
      const nameOf = (node: string): string => /^[\w-]+/.exec(node.split(`${base}/`)[1]!)![0];
      return new Map(rows.map(({ job_id, node }) => [nameOf(node), job_id]));
    },
    async runsOf(jobId: string): Promise<number> {
      const { rows } = await client.query(
        `SELECT FROM divisor.documents WHERE kind = 'run' AND 'backtest:' || (body::jsonb ->> 'index_id') = $1`,
        [jobId],
      );
      return rows.length;
    },
    async close() {
      for (const child of children) child.kill('SIGKILL');
      await client.end();
      await s3.stop();
      await drop();
      await rm(base, { recursive: true, force: true });
    },
  };
}

type Versions = Awaited<ReturnType<typeof openVersions>>;
type Process = Awaited<ReturnType<Versions['listening']>>;

/** One of two workers, each in the middle of a job, is asked to end: the other does both, each once. */
async function drained({ s3, running, runsOf }: Versions, front: Process, leaving: Process): Promise<void> {
  s3.isHeld = true; // No job can end.
  const ids = [`${leaving.name}-A`, `${leaving.name}-B`].map((id) => id.toUpperCase());
  const jobs = [await submitted(front.url, ids[0]!), await submitted(front.url, ids[1]!)];
  await expect.poll(async () => (await running()).size).toBe(2);
  const left = (await running()).get(leaving.name)!;
  leaving.child.kill('SIGTERM');
  expect(await leaving.ended).toBe(0);
  expect([...(await running()).keys()]).not.toContain(leaving.name);
  s3.isHeld = false;
  for (const jobId of jobs) {
    expect(await ended(front.url, jobId)).toMatchObject({ status: 'succeeded', attempt: jobId === left ? 2 : 1 });
    expect(await runsOf(jobId)).toBe(1);
  }
}

test.skipIf(OLDER === undefined || !hasPostgresql)(
  'an earlier version and this one work side by side on tables of this one, each on jobs of the other and on those it leaves',
  async () => {
    const versions = await openVersions();
    const { base, finished, listening } = versions;
    const older = resolve(OLDER!);
    expect((await finished(older, ['migrate'])).status).toBe(0);
    const oldFront = await listening(older, 'serve', 'old-front');
    const oldWorker = await listening(older, 'worker', 'old-worker');
    const market = await ask(oldFront.url, 'POST', '/data/synthetic', MARKET);
    expect(await ended(oldFront.url, market['job_id'])).toMatchObject({ status: 'succeeded' });
    expect(await run(oldFront.url, 'BEFORE')).toMatchObject({ status: 'succeeded' });

    const refused = await finished('.', ['serve', '--home', join(base, 'early'), '--port', '0']);
    expect([refused.status, refused.said.includes('run divisor migrate')]).toEqual([78, true]);
    expect((await finished('.', ['migrate'])).status).toBe(0);
    const front = await listening('.', 'serve', 'front');
    expect(await run(front.url, 'ASKED-OF-NEW')).toMatchObject({ status: 'succeeded', attempt: 1 });
    const first = await listening('.', 'worker', 'first-worker');
    const listed = await finished('.', ['nodes', '--json']);
    const protocols = listed.said
      .trim()
      .split('\n')
      .map((line) => Number((JSON.parse(line) as Json)['protocol']));
    expect(protocols.length).toBe(4);
    expect(new Set(protocols).size).toBe(2);

    await drained(versions, oldFront, first);
    const worker = await listening('.', 'worker', 'worker');
    await drained(versions, front, oldWorker);
    expect(await run(oldFront.url, 'ASKED-OF-OLD')).toMatchObject({ status: 'succeeded', attempt: 1 });
    const expected = await levels(oldFront.url, 'BEFORE');
    expect(expected).toEqual(expect.anything());
    for (const id of ['ASKED-OF-NEW', 'ASKED-OF-OLD', 'FIRST-WORKER-A', 'OLD-WORKER-B'])
      for (const at of [oldFront.url, front.url]) expect(await levels(at, id)).toEqual(expected);

    for (const { child, ended: over } of [oldFront, front, worker]) {
      child.kill('SIGTERM');
      expect(await over).toBe(0);
    }
    expect((await finished(older, ['migrate'])).status).toBe(78); // The tables are newer than it knows.
    await versions.close();
  },
);
