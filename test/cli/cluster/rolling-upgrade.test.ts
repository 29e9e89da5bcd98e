import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { getBuildVersion } from '#cli/version.js';
import { mayDifferInBits } from '#domain/backtest/plan.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { INDEX, MARKET } from '../even-index.js';
import { OLDER_CHECKOUT, openVersions } from './older-version.js';

type Json = Record<string, unknown>;

async function ask(url: string, method: string, path: string, body?: unknown): Promise<Json> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}${path}`, {
    method,
    ...(body !== undefined && { headers, body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Json;
}

async function waitForJob(url: string, jobId: unknown): Promise<Json> {
  for (;;) {
    const status = await ask(url, 'GET', `/jobs/${String(jobId)}?wait=10`);
    if (!['pending', 'running'].includes(String(status['status']))) return status;
  }
}

async function submitBacktest(url: string, id: string): Promise<string> {
  await ask(url, 'PUT', `/indices/${id}`, { ...INDEX, id });
  return String((await ask(url, 'POST', `/analytics/${id}/backtest`, {}))['job_id']);
}

const run = async (url: string, id: string): Promise<Json> => waitForJob(url, await submitBacktest(url, id));
/** Significant digits of levels that two versions have in common; all if neither changes a bit. */
const COMMON_DIGITS = 12;

/** Returns the levels of an index as text, with as many digits as the two versions have in common. */
async function readLevels(url: string, id: string, olderVersion: string): Promise<string> {
  const differ = mayDifferInBits(olderVersion, getBuildVersion());
  return JSON.stringify((await ask(url, 'GET', `/analytics/${id}/levels`))['levels'], (_, value: unknown) =>
    typeof value === 'number' && differ ? Number(value.toPrecision(COMMON_DIGITS)) : value,
  );
}

type Versions = Awaited<ReturnType<typeof openVersions>>;
type Process = Awaited<ReturnType<Versions['startListening']>>;

interface BacktestSubmission {
  readonly at: string;
  readonly id: string;
}

const createRequest = (url: string, id: string): BacktestSubmission => ({ at: url, id });

/**
 * Stops one of two workers while each runs a job. The other worker completes both jobs, and each job completes once.
 */
async function drainWorker(
  { s3, running, countRuns }: Versions,
  jobs: readonly BacktestSubmission[],
  leavingWorker: Process,
): Promise<void> {
  s3.isHeld = true; // no job can end
  const ids: string[] = [];
  for (const { at: url, id } of jobs) {
    ids.push(await submitBacktest(url, id));
    await expect.poll(async () => (await running()).size).toBe(ids.length);
  }
  const remainingJobs = (await running()).get(leavingWorker.name)!;
  await stopProcess(leavingWorker);
  expect([...(await running()).keys()]).not.toContain(leavingWorker.name);
  s3.isHeld = false;
  for (const jobId of ids) {
    expect(await waitForJob(jobs[0]!.at, jobId)).toMatchObject({
      status: 'succeeded',
      attempt: jobId === remainingJobs ? 2 : 1,
    });
    expect(await countRuns(jobId)).toBe(1);
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
    const { runToEnd, startListening } = versions;
    const olderCheckout = resolve(OLDER_CHECKOUT!);
    const manifest = readFileSync(join(olderCheckout, 'package.json'), 'utf8');
    const { version: olderVersion } = JSON.parse(manifest) as { readonly version: string };
    const migration = await runToEnd(olderCheckout, ['migrate']);
    expect(migration.status).toBe(0);
    /** True if the tables of the earlier version lack migrations of this version. */
    const isBehind = Number(/version (\d+)/.exec(migration.said)![1]) < PROTOCOL;
    const oldFront = await startListening(olderCheckout, 'serve', 'old-front');
    const oldWorker = await startListening(olderCheckout, 'worker', 'old-worker');
    const oldUrl = oldFront.url;
    const market = await ask(oldUrl, 'POST', '/data/synthetic', MARKET);
    expect(await waitForJob(oldUrl, market['job_id'])).toMatchObject({ status: 'succeeded' });
    expect(await run(oldUrl, 'BEFORE')).toMatchObject({ status: 'succeeded' });
    if (isBehind) await checkRefusalBeforeMigration(versions);
    expect((await runToEnd('.', ['migrate'])).status).toBe(0);
    const frontEnd = await startListening('.', 'serve', 'front');
    const frontUrl = frontEnd.url;

    // The earlier worker does not claim a job of this version. It computes a later job of the earlier version.
    const waitingJob = await submitBacktest(frontUrl, 'ASKED-OF-NEW');
    expect(await run(oldUrl, 'ASKED-OF-OLD')).toMatchObject({ status: 'succeeded', attempt: 1 });
    for (const url of [oldUrl, frontUrl])
      expect(await ask(url, 'GET', `/jobs/${waitingJob}`)).toMatchObject({ status: 'pending', attempt: 1 });
    const first = await startListening('.', 'worker', 'first-worker');
    expect(await waitForJob(frontUrl, waitingJob)).toMatchObject({ status: 'succeeded', attempt: 1 });
    const protocols = await readProtocols(versions);
    expect([protocols.length, new Set(protocols).size]).toEqual([4, isBehind ? 2 : 1]);

    await drainWorker(versions, [createRequest(oldUrl, 'OLD-A'), createRequest(oldUrl, 'OLD-B')], first);
    const second = await startListening('.', 'worker', 'second-worker');
    await drainWorker(versions, [createRequest(frontUrl, 'NEW-C'), createRequest(oldUrl, 'OLD-D')], oldWorker);
    for (const id of ['ASKED-OF-OLD', 'ASKED-OF-NEW', 'OLD-A', 'OLD-B', 'NEW-C', 'OLD-D'])
      expect(await readLevels(frontUrl, id, olderVersion)).toBe(await readLevels(frontUrl, 'BEFORE', olderVersion));

    const lastOld = await startListening(olderCheckout, 'worker', 'last-old-worker');
    const lostRow = await readLostAmongOthers(versions, frontEnd, second);
    expect(await run(oldUrl, 'OLD-E')).toMatchObject({ status: 'succeeded', attempt: 1 });
    expect(await ask(oldUrl, 'GET', `/jobs/${lostRow}`)).toMatchObject({ status: 'pending', attempt: 2 });
    const third = await startListening('.', 'worker', 'third-worker');
    expect(await waitForJob(oldUrl, lostRow)).toMatchObject({ status: 'succeeded', attempt: 2 });

    for (const process of [oldFront, lastOld, third]) await stopProcess(process);
    // The earlier version refuses tables if their version is newer than it supports.
    expect((await runToEnd(olderCheckout, ['migrate'])).status).toBe(isBehind ? 78 : 0);
  },
);

async function checkRefusalBeforeMigration({ runToEnd, base }: Versions): Promise<void> {
  const refusal = await runToEnd('.', ['serve', '--home', join(base, 'early'), '--port', '0']);
  expect([refusal.status, refusal.said.includes('run divisor migrate')]).toEqual([78, true]);
}

async function readProtocols({ runToEnd }: Versions): Promise<readonly number[]> {
  const lines = (await runToEnd('.', ['nodes', '--json'])).said.trim().split('\n');
  return lines.map((line) => Number((JSON.parse(line) as Json)['protocol']));
}

/**
 * Kills the worker of a job of this version. A process of the earlier version detects the loss and returns the job to
 * the queue. @returns the id of the job
 */
async function readLostAmongOthers({ running, s3 }: Versions, frontEnd: Process, worker: Process): Promise<string> {
  s3.isHeld = true;
  const jobId = await submitBacktest(frontEnd.url, 'LOST');
  await expect.poll(async () => (await running()).get(worker.name)).toBe(jobId);
  await stopProcess(frontEnd);
  worker.child.kill('SIGKILL');
  await expect.poll(async () => (await running()).size).toBe(0);
  s3.isHeld = false;
  return jobId;
}
