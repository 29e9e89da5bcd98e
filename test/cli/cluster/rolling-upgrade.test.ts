import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { PROTOCOL } from '#store/postgres/schema.js';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { INDEX, MARKET } from '../even-index.js';
import { OLDER, openVersions } from './older-version.js';

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
    const migrated = await finished(older, ['migrate']);
    expect(migrated.status).toBe(0);
    /** Whether the tables of the earlier version are a step or more behind those of this one. */
    const isBehind = Number(/version (\d+)/.exec(migrated.said)![1]) < PROTOCOL;
    const oldFront = await listening(older, 'serve', 'old-front');
    const oldWorker = await listening(older, 'worker', 'old-worker');
    const market = await ask(oldFront.url, 'POST', '/data/synthetic', MARKET);
    expect(await ended(oldFront.url, market['job_id'])).toMatchObject({ status: 'succeeded' });
    expect(await run(oldFront.url, 'BEFORE')).toMatchObject({ status: 'succeeded' });

    if (isBehind) {
      const refused = await finished('.', ['serve', '--home', join(base, 'early'), '--port', '0']);
      expect([refused.status, refused.said.includes('run divisor migrate')]).toEqual([78, true]);
    }
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
    expect(new Set(protocols).size).toBe(isBehind ? 2 : 1);

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
    // Tables that are newer than it knows are refused.
    expect((await finished(older, ['migrate'])).status).toBe(isBehind ? 78 : 0);
    await versions.close();
  },
);
