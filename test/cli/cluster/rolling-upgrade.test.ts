import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { PROTOCOL } from '#store/postgres/schema.js';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { INDEX, MARKET } from '../even-index.js';
import { OLDER_CHECKOUT, openVersions } from './older-version.js';

type Json = Record<string, unknown>;

async function ask(at: string, method: string, path: string, body?: unknown): Promise<Json> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${at}${path}`, {
    method,
    ...(body !== undefined && { headers, body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Json;
}

async function waitForJob(at: string, jobId: unknown): Promise<Json> {
  for (;;) {
    const status = await ask(at, 'GET', `/jobs/${String(jobId)}?wait=10`);
    if (!['pending', 'running'].includes(String(status['status']))) return status;
  }
}

async function submitBacktest(at: string, id: string): Promise<string> {
  await ask(at, 'PUT', `/indices/${id}`, { ...INDEX, id });
  return String((await ask(at, 'POST', `/analytics/${id}/backtest`, {}))['job_id']);
}

const run = async (at: string, id: string): Promise<Json> => waitForJob(at, await submitBacktest(at, id));
const readLevels = async (at: string, id: string) => (await ask(at, 'GET', `/analytics/${id}/levels`))['levels'];

type Versions = Awaited<ReturnType<typeof openVersions>>;
type Process = Awaited<ReturnType<Versions['listening']>>;

interface BacktestSubmission {
  readonly at: string;
  readonly id: string;
}

const createRequest = (at: string, id: string): BacktestSubmission => ({ at, id });

/** Stops one of two workers while each runs a job: the other worker completes both jobs, each exactly once. */
async function drainWorker(
  { s3, running, runsOf }: Versions,
  jobs: readonly BacktestSubmission[],
  leaving: Process,
): Promise<void> {
  s3.isHeld = true; // no job can end
  const ids: string[] = [];
  for (const { at, id } of jobs) {
    ids.push(await submitBacktest(at, id));
    await expect.poll(async () => (await running()).size).toBe(ids.length);
  }
  const left = (await running()).get(leaving.name)!;
  await stopProcess(leaving);
  expect([...(await running()).keys()]).not.toContain(leaving.name);
  s3.isHeld = false;
  for (const jobId of ids) {
    expect(await waitForJob(jobs[0]!.at, jobId)).toMatchObject({
      status: 'succeeded',
      attempt: jobId === left ? 2 : 1,
    });
    expect(await runsOf(jobId)).toBe(1);
  }
}

async function stopProcess({ child, ended: over }: Process): Promise<void> {
  child.kill('SIGTERM');
  expect(await over).toBe(0);
}

test.skipIf(OLDER_CHECKOUT === undefined || !hasPostgresql)(
  'an earlier version and this one run concurrently: each job runs once, and jobs of this version run only on this version',
  async () => {
    const versions = await openVersions();
    const { finished, listening } = versions;
    const older = resolve(OLDER_CHECKOUT!);
    const migrated = await finished(older, ['migrate']);
    expect(migrated.status).toBe(0);
    /** The tables of the earlier version are one or more migrations behind this version. */
    const isBehind = Number(/version (\d+)/.exec(migrated.said)![1]) < PROTOCOL;
    const oldFront = await listening(older, 'serve', 'old-front');
    const oldWorker = await listening(older, 'worker', 'old-worker');
    const old = oldFront.url;
    const market = await ask(old, 'POST', '/data/synthetic', MARKET);
    expect(await waitForJob(old, market['job_id'])).toMatchObject({ status: 'succeeded' });
    expect(await run(old, 'BEFORE')).toMatchObject({ status: 'succeeded' });
    if (isBehind) await checkRefusalBeforeMigration(versions);
    expect((await finished('.', ['migrate'])).status).toBe(0);
    const front = await listening('.', 'serve', 'front');
    const frontUrl = front.url;

    // The earlier worker does not claim a job of this version, and computes a later job of the earlier version.
    const waiting = await submitBacktest(frontUrl, 'ASKED-OF-NEW');
    expect(await run(old, 'ASKED-OF-OLD')).toMatchObject({ status: 'succeeded', attempt: 1 });
    for (const at of [old, frontUrl])
      expect(await ask(at, 'GET', `/jobs/${waiting}`)).toMatchObject({ status: 'pending', attempt: 1 });
    const first = await listening('.', 'worker', 'first-worker');
    expect(await waitForJob(frontUrl, waiting)).toMatchObject({ status: 'succeeded', attempt: 1 });
    const protocols = await protocolsOf(versions);
    expect([protocols.length, new Set(protocols).size]).toEqual([4, isBehind ? 2 : 1]);

    await drainWorker(versions, [createRequest(old, 'OLD-A'), createRequest(old, 'OLD-B')], first);
    const second = await listening('.', 'worker', 'second-worker');
    await drainWorker(versions, [createRequest(frontUrl, 'NEW-C'), createRequest(old, 'OLD-D')], oldWorker);
    for (const id of ['ASKED-OF-OLD', 'ASKED-OF-NEW', 'OLD-A', 'OLD-B', 'NEW-C', 'OLD-D'])
      expect(await readLevels(frontUrl, id)).toEqual(await readLevels(frontUrl, 'BEFORE'));

    const lastOld = await listening(older, 'worker', 'last-old-worker');
    const lost = await readLostAmongOthers(versions, front, second);
    expect(await run(old, 'OLD-E')).toMatchObject({ status: 'succeeded', attempt: 1 });
    expect(await ask(old, 'GET', `/jobs/${lost}`)).toMatchObject({ status: 'pending', attempt: 2 });
    const third = await listening('.', 'worker', 'third-worker');
    expect(await waitForJob(old, lost)).toMatchObject({ status: 'succeeded', attempt: 2 });

    for (const process of [oldFront, lastOld, third]) await stopProcess(process);
    // The earlier version refuses tables whose version is newer than it supports.
    expect((await finished(older, ['migrate'])).status).toBe(isBehind ? 78 : 0);
  },
);

async function checkRefusalBeforeMigration({ finished, base }: Versions): Promise<void> {
  const refusal = await finished('.', ['serve', '--home', join(base, 'early'), '--port', '0']);
  expect([refusal.status, refusal.said.includes('run divisor migrate')]).toEqual([78, true]);
}

async function protocolsOf({ finished }: Versions): Promise<readonly number[]> {
  const lines = (await finished('.', ['nodes', '--json'])).said.trim().split('\n');
  return lines.map((line) => Number((JSON.parse(line) as Json)['protocol']));
}

/** Kills the worker of a job of this version; processes of the earlier version release the job. @returns its id */
async function readLostAmongOthers({ running, s3 }: Versions, front: Process, worker: Process): Promise<string> {
  s3.isHeld = true;
  const jobId = await submitBacktest(front.url, 'LOST');
  await expect.poll(async () => (await running()).get(worker.name)).toBe(jobId);
  await stopProcess(front);
  worker.child.kill('SIGKILL');
  await expect.poll(async () => (await running()).size).toBe(0);
  s3.isHeld = false;
  return jobId;
}
