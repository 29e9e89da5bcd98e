import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createJobRow } from '#jobs/distributed/job-documents.js';
import type { QueueLimits } from '#jobs/port/queue.js';
import { hasPostgresql, openTestSchema, type TestSchema } from '../../postgresql/shared-postgresql.js';
import { createQueues, createJob, LEASE_MS } from '../queue-port-world.js';
import { RETRIES_AT_ONCE } from '../retries-at-once.js';
import { createTestClock } from '../test-clock.js';
import { openNode, type OpenedNode } from './open-node.js';

const LIMITS: QueueLimits = {
  getRetryPolicy: RETRIES_AT_ONCE,
  queueMax: 1000,
  ownerQueueMax: 1000,
  endedMax: 1000,
  jobBytesMax: 1000,
  leaseMs: LEASE_MS,
};

/**
 * Condition by which nodes of 0.2.0 and 0.3.0 claim a backtest: `kind = ANY('{backtest,...}')`. The constant is the
 * kind in it.
 */
const CLAIMED_BEFORE = 'backtest';

describe.skipIf(!hasPostgresql)('the kind of a job in its row', () => {
  const { joinAs } = createQueues(() => Promise.reject(new Error('opened below')));
  let world: TestSchema;
  let node: OpenedNode & Awaited<ReturnType<typeof joinAs>>;

  beforeAll(async () => {
    world = await openTestSchema();
    const openedNode = await openNode(world, LIMITS, createTestClock());
    node = { ...openedNode, ...(await joinAs(openedNode.queue)) };
  });

  afterAll(async () => {
    await node.close();
    await world.drop();
  });

  async function readJobRow(id: string) {
    const [row] = await world.query(`SELECT kind, sequence FROM $schema.jobs WHERE job_id = 'backtest:${id}'`);
    return { kind: String(row!['kind']), sequence: Number(row!['sequence']) };
  }

  /** Writes a job as a node of an earlier release does. Such a node stores its plain kind with every change. */
  async function writeBefore(id: string, change: { readonly attempt: number; readonly sequence: number }) {
    await node.documents.jobTransaction(async (tx) => {
      const storedJob = (await tx.get('job', `backtest:${id}`)) as { readonly body: object };
      const record = { ...storedJob.body, ...change };
      await tx.put('job', `backtest:${id}`, record);
      await tx.put('index', 'another', {}); // a commit of several documents writes the whole row
      tx.putJob({ ...createJobRow(record as never), kind: CLAIMED_BEFORE });
    });
  }

  test('excludes nodes of earlier releases until one of them submits the job again', async () => {
    await node.queue.submit(createJob('a'));
    const { kind, sequence } = await readJobRow('a');
    expect(kind).not.toBe(CLAIMED_BEFORE);
    await writeBefore('a', { attempt: 2, sequence }); // the attempt was released
    expect(await readJobRow('a')).toEqual({ kind, sequence });
    await writeBefore('a', { attempt: 3, sequence: sequence + 1 }); // the attempt failed and is retried
    expect(await readJobRow('a')).toEqual({ kind, sequence: sequence + 1 });
    await writeBefore('a', { attempt: 1, sequence: sequence + 2 });
    expect(await readJobRow('a')).toEqual({ kind: CLAIMED_BEFORE, sequence: sequence + 2 });
    expect((await node.claimed()).job).toMatchObject({ job_id: 'backtest:a', kind: 'backtest' });
  });

  test('excludes this release from a kind of a later release, which is listed among the other jobs of its kind', async () => {
    await node.queue.submit(createJob('b'));
    await world.query(`UPDATE $schema.jobs SET kind = 'backtest/99' WHERE job_id = 'backtest:b'`);
    expect(await node.claim()).toBeUndefined();
    expect(await node.queue.ids('backtest')).toContain('backtest:b');
    const { jobs } = await node.queue.list({ kinds: ['backtest'], statuses: ['pending'], limit: 10 });
    expect(jobs.map(({ job_id: id }) => id)).toEqual(['backtest:b']);
  });
});
