import { describe, expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import type { JobQueue, NewJob } from '#jobs/port/queue.js';
import type { DocumentTransaction } from '#store/port.js';
import { describeCallbacks } from './queue-port-callbacks.js';
import { describeOrder } from './queue-port-order.js';
import { describeAttempts } from './queue-port-attempts.js';
import {
  createQueues,
  createOrigin,
  createJob,
  createLightJob,
  succeed,
  type OpenQueue,
  type Queues,
} from './queue-port-world.js';

/** Declares the tests that every implementation of the queue must pass. */
export function describeJobQueue(name: string, open: OpenQueue): void {
  describe(name, () => {
    const queues = createQueues(open);
    describeSubmissions(queues);
    describeClaims(queues);
    describeOrder(queues);
    describeAttempts(queues);
    describeListing(queues);
    describeCallbacks(queues);
  });
}

function describeSubmissions({ joined, joinAs }: Queues): void {
  describe('a submission', () => {
    test('is durable and complete once it is acknowledged', async () => {
      const { queue, reopen } = await joined();
      const origin = { owner: 'key', requestId: 'r', traceId: 't', author: null, note: null, callback: null };
      const status = await queue.submit(createJob('a', { origin, message: 'Waiting.' }));
      expect(status).toMatchObject({ job_id: 'backtest:a', status: 'pending', attempt: 1, request: { start: null } });
      expect(status).toMatchObject({ message: 'Waiting.', input_hash: 'a', request_id: 'r', trace_id: 't' });
      const after = await reopen();
      const { claimed } = await joinAs(after.queue);
      expect((await after.queue.find('backtest:a'))!.status).toEqual(status);
      expect(await claimed()).toMatchObject({ input: { payload: { of: 'a' } }, job: { owner: 'key' } });
    });

    test('is one job however often it is repeated; another request under its id is refused', async () => {
      const { queue, claim } = await joined();
      const all = await Promise.allSettled(
        [...Array(10).fill(createJob('a')), createJob('a', { inputHash: 'other' })].map(queue.submit),
      );
      expect(all.map(({ status }) => status)).toEqual([...Array(10).fill('fulfilled'), 'rejected']);
      expect(all.at(-1)).toMatchObject({ reason: { code: 'JOB_RUNNING' } });
      expect([await claim(), await claim()]).toMatchObject([{ lease: { jobId: 'backtest:a' } }, undefined]);
      expect(await queue.submit(createJob('a'))).toMatchObject({ status: 'running' });
    });

    test('replaces an ended job of its id', async () => {
      const { queue, claimed } = await joined();
      await queue.submit(createJob('a'));
      await queue.cancel('backtest:a');
      expect(await queue.submit(createJob('a', { inputHash: 'other', payload: 2 }))).toMatchObject({
        status: 'pending',
      });
      expect((await claimed()).input).toEqual({ payload: 2 });
    });

    test('is refused beyond the limits of the queue, of its owner and of memory, with both numbers', async () => {
      const { queue } = await joined({ queueMax: 3, ownerQueueMax: 1 });
      const createOutcome = async (submission: NewJob) =>
        queue.submit(submission).then(
          () => 'queued',
          ({ code, detail }: Refusal) => ({ code, detail }),
        );
      const rateRefusal = { code: 'RATE_LIMITED', detail: { queued: 1, limit: 1 } };
      expect(await Promise.all(['a', 'b'].map((id) => createOutcome(createJob(id, createOrigin('one')))))).toEqual([
        'queued',
        rateRefusal,
      ]);
      expect(await Promise.all(['c', 'd', 'e'].map((id) => createOutcome(createJob(id))))).toEqual([
        'queued',
        'queued',
        { code: 'OVERLOADED', detail: { queued: 3, limit: 3 } },
      ]);
      const large = { estimated_bytes: 1001, budget_bytes: 1000 };
      expect(await createOutcome(createJob('f', { estimatedBytes: 1001 }))).toMatchObject({
        code: 'VALIDATION_FAILED',
        detail: large,
      });
      expect(await queue.find('backtest:f')).toBeUndefined();
    });

    test('is refused while the queue drains, which also gives out no job', async () => {
      const { queue, claim } = await joined();
      await queue.submit(createJob('a'));
      queue.drain();
      await expect(queue.submit(createJob('b'))).rejects.toMatchObject({ code: 'DRAINING' });
      expect(await queue.submit(createJob('a'))).toMatchObject({ status: 'pending' });
      expect(await claim()).toBeUndefined();
    });

    test('deletes the oldest ended jobs beyond the limit, never waiting ones', async () => {
      const { queue, documents } = await joined({ endedMax: 2 });
      await queue.submit(createJob('waiting'));
      for (const id of ['a', 'b', 'c', 'd']) {
        await queue.submit(createJob(id));
        await queue.cancel(`backtest:${id}`);
      }
      // All submissions find that b exceeds the limit.
      await Promise.all(['x', 'b', 'y'].map((id) => queue.submit(createJob(id))));
      const ids = await queue.ids('backtest');
      expect(ids).toEqual(['waiting', 'c', 'd', 'x', 'b', 'y'].map((id) => `backtest:${id}`));
      expect(await documents.ids('job')).toEqual(ids.toSorted());
      expect(await queue.find('backtest:a')).toBeUndefined();
    });

    test('deletes the stored results of the job that it deletes or replaces, and no others', async () => {
      const { queue, claimed, documents } = await joined({ endedMax: 2 });
      const finish = async (submitted: NewJob, runIds: readonly string[]): Promise<void> => {
        await queue.submit(submitted);
        const { lease } = await claimed();
        const writeEffect = async (tx: DocumentTransaction): Promise<void> => {
          for (const id of runIds) await tx.put('optimisation-run', id, { run_id: id });
        };
        expect(await queue.complete(lease, { ...succeed, effect: writeEffect })).toBe(true);
      };
      const createStudyJob = (runs: number, inputHash: string): NewJob =>
        createJob('s', { jobId: 'study:s', kind: 'study', request: { runs }, inputHash });
      const optimise = (id: string): NewJob => createJob(id, { jobId: `optimise:${id}`, kind: 'optimise' });
      await finish(createStudyJob(3, 'long'), ['s-1', 's-2', 's-3']);
      await finish(optimise('a'), ['a']);
      await finish(createStudyJob(1, 'short'), ['s-1']);
      expect(await documents.ids('optimisation-run')).toEqual(['a', 's-1']);
      await finish(optimise('b'), ['b']);
      await queue.submit(createJob('next')); // which forgets the oldest job, a
      expect(await documents.ids('optimisation-run')).toEqual(['b', 's-1']);
    });
  });
}

function describeClaims({ joined }: Queues): void {
  describe('claims', () => {
    test('at the same time receive each job once', async () => {
      const { queue, claim } = await joined();
      const ids = Array.from({ length: 20 }, (_, i) => `j${i}`);
      await Promise.all(ids.map((id) => queue.submit(createJob(id))));
      const claims = await Promise.all(Array.from({ length: 30 }, () => claim()));
      const takenJobs = claims.flatMap((claim) => claim?.lease.jobId ?? []);
      expect(takenJobs.toSorted()).toEqual(ids.map((id) => `backtest:${id}`).toSorted());
      expect(await queue.counts()).toEqual({ pending: 0, running: 20 });
    });

    test('show the waiting and running jobs of each lane, and how long the oldest has waited', async () => {
      const { queue, claimed } = await joined();
      for (const id of ['a', 'b', 'c']) await queue.submit(createJob(id));
      await claimed();
      const { heavy, light: idle } = await queue.lanes();
      expect([heavy, idle]).toMatchObject([
        { waiting: 2, running: 1 },
        { waiting: 0, running: 0, oldestSeconds: null },
      ]);
      expect(heavy.oldestSeconds).toBeGreaterThanOrEqual(0);
    });

    test('receive jobs of their lane in the order of submission, with owners taking turns', async () => {
      const { queue, claimed, claim } = await joined();
      for (const id of ['a1', 'a2', 'a3']) await queue.submit(createJob(id, createOrigin('a')));
      await queue.submit(createLightJob('l'));
      for (const id of ['b1', 'b2']) await queue.submit(createJob(id, createOrigin('b')));
      expect((await claimed({ lane: 'light' })).lease.jobId).toBe('render:l');
      const order: string[] = [];
      for (let next = await claim(); next !== undefined; next = await claim()) order.push(next.lease.jobId.slice(9));
      expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
    });

    test('skip only owners at their limit', async () => {
      const { queue, claim, claimed } = await joined();
      await queue.submit(createJob('a', createOrigin('a')));
      await queue.submit(createJob('b', createOrigin('b')));
      expect((await claimed({ exceptOwners: new Set(['a']) })).lease.jobId).toBe('backtest:b');
      expect(await claim({ exceptOwners: new Set(['a']) })).toBeUndefined();
      expect((await claimed()).lease.jobId).toBe('backtest:a');
    });

    test('that decline an offered job leave it first in the queue', async () => {
      const { queue, claim, claimed } = await joined();
      for (const [id, estimatedBytes] of [
        ['large', 900],
        ['small', 1],
      ] as const)
        await queue.submit(createJob(id, { estimatedBytes }));
      const offers: number[] = [];
      const take = ({ estimated_bytes: bytes }: { readonly estimated_bytes: number }) => offers.push(bytes) > 2;
      expect([await claim({ take }), await claim({ take })]).toEqual([undefined, undefined]);
      expect((await claimed({ take })).lease.jobId).toBe('backtest:large');
      expect(offers).toEqual([900, 900, 900]);
    });

    test('are stored as running with their attempt, and their node is notified of new work', async () => {
      const { queue, claimed, reopen, state } = await joined();
      const calls = state.calls;
      await queue.submit(createJob('a'));
      expect(state.calls).toBeGreaterThan(calls);
      expect((await claimed()).lease).toMatchObject({ jobId: 'backtest:a', attempt: 1 });
      const after = await reopen();
      expect((await after.queue.find('backtest:a'))?.status).toMatchObject({ status: 'running', attempt: 1 });
    });
  });
}

function describeListing({ joined }: Queues): void {
  test('lists the newest first, by kind and status, up to a limit and before a job', async () => {
    const { queue, claimed } = await joined();
    for (const id of ['a', 'b', 'c']) await queue.submit(createJob(id));
    await queue.submit(createLightJob('r'));
    await queue.cancel('backtest:b');
    await queue.complete((await claimed()).lease, succeed);
    const listJobIds = async (query: Partial<Parameters<JobQueue['list']>[0]>) =>
      (await queue.list({ limit: 100, ...query })).jobs.map(
        ({ job_id: id, result }) => `${id.split(':')[1]} ${String(result)}`,
      );
    expect(await listJobIds({})).toEqual(['r null', 'c null', 'b null', 'a null']);
    expect(await listJobIds({ kinds: ['backtest'], limit: 2 })).toEqual(['c null', 'b null']);
    expect(await listJobIds({ kinds: ['render', 'risk'] })).toEqual(['r null']);
    expect(await listJobIds({ kinds: ['backtest', 'render'], limit: 2 })).toEqual(['r null', 'c null']);
    expect(await listJobIds({ statuses: ['cancelled', 'succeeded'] })).toEqual(['b null', 'a null']);
    expect(await listJobIds({ before: 'backtest:b' })).toEqual(['a null']);
    expect(await listJobIds({ before: 'backtest:unknown' })).toEqual([]);
    await queue.submit(createJob('b'));
    expect(await listJobIds({ limit: 1 })).toEqual(['b null']);
    expect(await queue.ids('backtest')).toEqual(['a', 'c', 'b'].map((id) => `backtest:${id}`));
    expect(await Promise.all(['a', 'b', 'none'].map((id) => queue.isLive(`backtest:${id}`)))).toEqual([
      false,
      true,
      false,
    ]);
  });
}
