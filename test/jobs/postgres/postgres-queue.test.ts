import { describe, expect, test } from 'vitest';
import { listNodes } from '#jobs/distributed/nodes.js';
import { type Claim, HUGE_BYTES, type QueueLimits, type WaitingJob } from '#jobs/port/queue.js';
import type { DocumentTransaction } from '#store/port.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import { hasPostgresql, openTestSchema, type TestSchema } from '../../postgresql/shared-postgresql.js';
import { createNotices, type OpenedNode, openNode } from './open-node.js';
import { describeJobQueue } from '../queue-port-contract.js';
import { createJob, createOrigin, createQueues, LEASE_MS, type OpenedQueue, succeed } from '../queue-port-world.js';
import { createTestClock, type TestClock } from '../test-clock.js';
import { RETRIES_AT_ONCE } from '../retries-at-once.js';

/** Advances two clocks: that of the database, for leases, and that of the process, for timers. */
async function advanceBoth(world: TestSchema, time: TestClock, ms: number): Promise<void> {
  const formatEarlier = (column: string): string => `${column} = ${column} - ${ms} * interval '1 ms'`;
  await world.query(`UPDATE $schema.jobs SET ${formatEarlier('lease_until')}, ${formatEarlier('reserved_until')}`);
  await time.pass(ms);
}

async function openOn(world: TestSchema, limits: QueueLimits, time: TestClock): Promise<OpenedQueue> {
  const ownNode = await openNode(world, limits, time);
  let end = ownNode.close;
  return {
    ...ownNode,
    async pass(ms) {
      await advanceBoth(world, time, ms);
      // The time passed before the first poll was answered. This waits for the second poll.
      await ownNode.answered();
      await time.pass(1000);
    },
    async reopen() {
      await ownNode.close();
      const next = await openOn(world, limits, time);
      end = next.discard;
      return { ...next, discard: async () => {} };
    },
    discard: () => end(),
  };
}

describe.skipIf(!hasPostgresql)('on PostgreSQL', () => {
  describeJobQueue('the queue', async (limits) => {
    const world = await openTestSchema();
    const openedQueue = await openOn(world, limits, createTestClock());
    return {
      ...openedQueue,
      async discard() {
        await openedQueue.discard();
        await world.drop();
      },
    };
  });
});

describe.skipIf(!hasPostgresql)('nodes on one PostgreSQL', () => {
  const LIMITS: QueueLimits = {
    getRetryPolicy: RETRIES_AT_ONCE,
    queueMax: 1000,
    ownerQueueMax: 1000,
    endedMax: 1000,
    jobBytesMax: 1000,
    leaseMs: LEASE_MS,
  };
  const { joinAs } = createQueues(() => Promise.reject(new Error('opened below')));

  async function addNodes(
    run: (
      nodes: readonly (OpenedNode & Awaited<ReturnType<typeof joinAs>>)[],
      pass: (ms: number) => Promise<void>,
      world: TestSchema,
    ) => Promise<void>,
    { isToldAtOnce = false, memories = [LIMITS.jobBytesMax, LIMITS.jobBytesMax] } = {},
  ): Promise<void> {
    const world = await openTestSchema();
    const time = createTestClock();
    const cancellations = isToldAtOnce ? createNotices() : undefined;
    const nodes = await Promise.all(
      ['one', 'other'].map(async (name, i) => {
        const limits = { ...LIMITS, jobBytesMax: memories[i]! };
        const node = await openNode(world, limits, time, { name, cancellations });
        return { ...node, ...(await joinAs(node.queue)) };
      }),
    );
    try {
      await run(nodes, (ms) => advanceBoth(world, time, ms), world);
    } finally {
      for (const node of nodes) await node.close();
      await world.drop();
    }
  }

  test('claim each job once, whoever submitted it', async () => {
    await addNodes(async ([one, other]) => {
      const ids = Array.from({ length: 40 }, (_, i) => `j${i}`);
      await Promise.all(ids.map((id, i) => (i % 2 === 0 ? one! : other!).queue.submit(createJob(id))));
      const claims = await Promise.all(Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? one! : other!).claim()));
      const takenJobs = claims.flatMap((claim) => claim?.lease.jobId ?? []);
      expect(takenJobs.toSorted()).toEqual(ids.map((id) => `backtest:${id}`).toSorted());
      expect(await one!.queue.counts()).toEqual({ pending: 0, running: 40 });
    });
  });

  test('send four statements for an empty job, one to find a job, and two to cancel one', async () => {
    await addNodes(async ([server, worker]) => {
      const [submitter, runner] = [server!, worker!];
      async function countQueries<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly count: number }> {
        const ask = (): number => submitter.statements.length + runner.statements.length;
        const before = ask();
        return { value: await work(), count: ask() - before };
      }
      // The first submission also queries the memory of the nodes and the jobs that must be deleted.
      await submitter.queue.submit(createJob('first'));
      await runner.queue.complete((await runner.claimed()).lease, succeed);
      const submission = await countQueries(() => submitter.queue.submit(createJob('a')));
      const claim = await countQueries(runner.claimed);
      await runner.queue.heartbeat(claim.value.lease);
      const completion = await countQueries(() => runner.queue.complete(claim.value.lease, succeed));
      const look = await countQueries(() => submitter.statusOf('a'));
      expect(look.value).toMatchObject({ status: 'succeeded', attempt: 1 });
      await submitter.queue.submit(createJob('b'));
      const cancellation = await countQueries(() => submitter.queue.cancel('backtest:b'));
      expect([submission, claim, completion, look, cancellation].map(({ count }) => count)).toEqual([2, 1, 1, 1, 2]);
    });
  });

  test('revert a start whose answer was lost, without counting a crash', async () => {
    await addNodes(async ([server, worker]) => {
      await server!.queue.submit(createJob('a'));
      worker!.loseNext('FOR UPDATE SKIP LOCKED');
      await expect(worker!.claim()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(await server!.statusOf('a')).toMatchObject({ status: 'running', attempt: 1 });
      await worker!.queue.complete((await worker!.claimed()).lease, succeed);
      expect(await server!.statusOf('a')).toMatchObject({ status: 'succeeded', attempt: 1 });
    });
  });

  test('accept a job although its earlier input was not deleted', async () => {
    await addNodes(async ([server, worker]) => {
      await server!.documents.transaction((tx) => tx.put('job-input', 'backtest:a', { payload: 'of before' }));
      await server!.queue.submit(createJob('a'));
      expect((await worker!.claimed()).input).toMatchObject({ payload: { of: 'a' } });
    });
  });

  test('end an attempt that was resubmitted with a callback meanwhile, and deliver the callback', async () => {
    await addNodes(async ([server, worker]) => {
      await server!.queue.submit(createJob('a'));
      const { lease } = await worker!.claimed();
      const origin = { ...createOrigin('somebody').origin!, callback: 'http://127.0.0.1:9/told' };
      await server!.queue.submit(createJob('a', { origin }));
      expect(await worker!.queue.complete(lease, succeed)).toBe(true);
      expect(await server!.statusOf('a')).toMatchObject({ status: 'succeeded', callbacks: [{ url: origin.callback }] });
    });
  });

  test('answer an equal submission with one job, and refuse another submission under its id', async () => {
    await addNodes(async ([one, other]) => {
      const submissions = await Promise.all([one!, other!].map(({ queue }) => queue.submit(createJob('a'))));
      expect(submissions.map(({ status }) => status)).toEqual(['pending', 'pending']);
      expect(await one!.queue.liveIds()).toEqual(['backtest:a']);
      await expect(other!.queue.submit(createJob('a', { inputHash: 'other' }))).rejects.toMatchObject({
        code: 'JOB_RUNNING',
      });
    });
  });

  test('show the progress and the end of jobs on another node, and are notified of both', async () => {
    await addNodes(async ([server, worker], pass) => {
      await server!.queue.submit(createJob('a'));
      const { lease } = await worker!.claimed();
      worker!.state.progress = { fraction: 0.5, message: 'Half.' };
      await worker!.queue.heartbeat(lease);
      expect(await server!.statusOf('a')).toMatchObject({ status: 'running', progress: 0.5, message: 'Half.' });
      const seenStatuses: (string | undefined)[] = [];
      const stop = server!.queue.watch('backtest:a', () => {
        void server!.statusOf('a').then((status) => void seenStatuses.push(status?.status));
      });
      expect(await worker!.queue.complete(lease, succeed)).toBe(true);
      while (!seenStatuses.includes('succeeded')) await pass(250);
      stop();
    });
  });

  test('learn of a cancellation on another node at the next heartbeat, and a late end changes nothing', async () => {
    await addNodes(async ([server, worker], pass) => {
      await server!.queue.submit(createJob('a'));
      const { lease } = await worker!.claimed();
      expect(await server!.queue.cancel('backtest:a')).toMatchObject({ status: 'cancelled' });
      const effect = { ...succeed, effect: async (tx: DocumentTransaction) => void (await tx.put('run', 'a', {})) };
      expect(await worker!.queue.complete(lease, effect)).toBe(false);
      expect([lease.isLost, await server!.documents.get('run', 'a')]).toEqual([true, undefined]);
      await server!.queue.submit(createJob('b'));
      const next = await worker!.claimed();
      await server!.queue.cancel('backtest:b');
      await pass(2000);
      expect([await worker!.queue.heartbeat(next.lease), next.lease.isLost]).toEqual([false, true]);
    });
  });

  test('restart the job of a silent node, and refuse its later messages', async () => {
    await addNodes(async ([silent, other], pass, { url, schema, query }) => {
      const listLostFlags = async () => (await listNodes({ url, schema })).map(({ is_lost: isLost }) => isLost);
      expect(await listLostFlags()).toEqual([false, false]);
      await query(`UPDATE $schema.nodes SET seen_at = seen_at - interval '1 hour' WHERE node = 'one'`);
      expect(await listLostFlags()).toEqual([true, false]);
      await silent!.queue.submit(createJob('a'));
      const { lease } = await silent!.claimed();
      let calls = other!.state.calls;
      await pass(LEASE_MS + 2000);
      while ((await other!.statusOf('a'))?.status !== 'pending') await pass(2000);
      const secondClaim = await other!.claimed();
      expect(secondClaim.lease).toMatchObject({ jobId: 'backtest:a', attempt: 2 });
      expect(await silent!.queue.complete(lease, succeed)).toBe(false);
      expect(await other!.queue.complete(secondClaim.lease, succeed)).toBe(true);
      calls = other!.state.calls - calls;
      expect(calls).toBeGreaterThan(0);
    });
  });

  test('that paused while their end was written learn that it is too late', async () => {
    await addNodes(async ([silent, other], pass, { url, schema }) => {
      await silent!.queue.submit(createJob('a'));
      const { lease } = await silent!.claimed();
      silent!.failNext(async () => {
        await pass(LEASE_MS + 2000);
        while ((await other!.statusOf('a'))?.status !== 'pending') await pass(2000);
        await pass(LEASE_MS); // longer than all retries of ending the attempt
      });
      const completion = silent!.queue.complete(lease, succeed);
      const state = { isOver: false };
      const settledCompletion = completion.finally(() => void (state.isOver = true)).catch(() => {});
      while (!state.isOver) await pass(500);
      await settledCompletion;
      expect(await completion).toBe(false);
      while ((await listNodes({ url, schema })).find(({ node }) => node === 'one')?.stale !== 1) await pass(2000);
      expect((await other!.claimed()).lease).toMatchObject({ jobId: 'backtest:a', attempt: 2 });
    });
  });

  test('learn of a cancellation at once through a notification', async () => {
    await addNodes(
      async ([server, worker]) => {
        await server!.queue.submit(createJob('a'));
        const { lease } = await worker!.claimed();
        const loss = new Promise<void>((resolve) => lease.onLost(resolve));
        await server!.queue.cancel('backtest:a');
        await loss; // no heartbeat is due, because the clock does not advance
        await server!.queue.submit(createJob('b'));
        worker!.delayNextClaim(() => server!.queue.cancel('backtest:b')); // notified before the lease exists
        const next = (await worker!.claimed()).lease;
        await expect.poll(() => next.isLost).toBe(true);
      },
      { isToldAtOnce: true },
    );
  });

  test('are listed with their jobs and their refused late ends, until they leave', async () => {
    await addNodes(async ([one, other], pass, { url, schema, query }) => {
      await one!.queue.submit(createJob('a'));
      const { lease } = await one!.claimed();
      const list = await listNodes({ url, schema });
      expect(list).toMatchObject([
        {
          node: 'one',
          role: 'worker',
          places: { heavy: 3, light: 1 },
          stale: 0,
          jobs: ['backtest:a'],
          protocol: PROTOCOL,
          lacks: ['disk'],
        },
        { node: 'other', jobs: [] },
      ]);
      expect((await other!.queue.lanes()).heavy).toMatchObject({ running: 1, places: 6 });
      await query(`UPDATE $schema.nodes SET state = replace(state, '"worker"', '"command"') WHERE node = 'one'`);
      expect((await other!.queue.lanes()).heavy).toMatchObject({ running: 0, places: 3 });
      await other!.queue.cancel('backtest:a');
      expect(await one!.queue.complete(lease, succeed)).toBe(false);
      while ((await listNodes({ url, schema }))[0]?.stale !== 1) await pass(2000);
      await other!.queue.close();
      expect((await listNodes({ url, schema })).map(({ node }) => node)).toEqual(['one']);
    });
  });

  test('leave jobs of a kind that their version does not know to others', async () => {
    await addNodes(async ([old], pass, { query }) => {
      await old!.queue.submit(createJob('a'));
      await old!.queue.submit(createJob('b'));
      await query(`UPDATE $schema.jobs SET kind = 'of-a-newer-version' WHERE job_id = 'backtest:a'`);
      expect((await old!.claimed()).lease.jobId).toBe('backtest:b');
      expect(await old!.claim()).toBeUndefined();
      const calls = old!.state.calls;
      await pass(4000);
      expect([old!.state.calls, await old!.queue.counts()]).toEqual([calls, { pending: 1, running: 1 }]);
    });
  });

  test('skip a job that needs more than their free memory, and reserve memory for one that has waited long', async () => {
    await addNodes(async ([busy, idle], _pass, { query }) => {
      const busyTakes = { freeBytes: 500, take: (offered: WaitingJob) => offered.estimated_bytes <= 500 };
      const readClaimedId = async (claim: Promise<Claim | undefined>) =>
        (await claim)?.lease.jobId.slice('backtest:'.length);
      for (const id of ['large', 'later']) await busy!.queue.submit(createJob(id, { estimatedBytes: 900 }));
      for (const id of ['small', 'next']) await busy!.queue.submit(createJob(id));
      // Moves times in the database by an interval. It is long enough for a slow machine.
      const move = (column: string, by: string) =>
        query(`UPDATE $schema.jobs SET ${column} = ${column} + interval '${by}'`);
      await move('queued_at', '1 hour');
      expect(await readClaimedId(busy!.claim(busyTakes))).toBe('small');
      expect(await readClaimedId(idle!.claim())).toBe('large');
      await move('queued_at', '-2 hours');
      expect(await readClaimedId(busy!.claim(busyTakes))).toBeUndefined();
      await move('reserved_until', '1 hour');
      expect(await readClaimedId(busy!.claim(busyTakes))).toBeUndefined();
      expect(await readClaimedId(idle!.claim())).toBe('next');
      expect(await readClaimedId(busy!.claim())).toBe('later');
    });
  });

  test('accept a huge job that fits into the memory of one node, and give it to no other', async () => {
    const memories = [1000, 3 * HUGE_BYTES];
    await addNodes(
      async ([server, large], _pass, { url, schema, query }) => {
        await query(`UPDATE $schema.nodes SET seen_at = seen_at + interval '1 hour'`); // the nodes stay alive
        const estimatedBytes = 2 * HUGE_BYTES;
        await server!.queue.submit(createJob('huge', { estimatedBytes }));
        const { heavy, huge } = await server!.queue.lanes();
        expect([heavy.waiting, heavy.places, huge.waiting, huge.places]).toEqual([0, 6, 1, 3]);
        expect(await server!.claim()).toBeUndefined();
        expect((await large!.claimed({ freeBytes: 3 * HUGE_BYTES })).lease.jobId).toBe('backtest:huge');
        const { memory_bytes: memory, reserved_bytes: reserved } = (await listNodes({ url, schema }))[1]!;
        expect([memory, reserved]).toEqual([3 * HUGE_BYTES, estimatedBytes]);
        const hugeSubmission = server!.queue.submit(createJob('beyond', { estimatedBytes: 4 * HUGE_BYTES }));
        await expect(hugeSubmission).rejects.toMatchObject({ detail: { budget_bytes: 3 * HUGE_BYTES } });
      },
      { memories },
    );
  });

  test('are notified of jobs that another submits', async () => {
    await addNodes(async ([server, worker], pass) => {
      await server!.queue.submit(createJob('a'));
      const before = worker!.state.calls;
      while (worker!.state.calls === before) await pass(250);
      expect((await worker!.claimed()).lease.jobId).toBe('backtest:a');
    });
  });
});
