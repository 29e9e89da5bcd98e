import { expect, test } from 'vitest';
import { createSubmissions } from '#jobs/distributed/queue.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { hasPostgresql, openTestSchema } from '../../postgresql/shared-postgresql.js';
import { createJob, LEASE_MS } from '../queue-port-world.js';
import { RETRIES_AT_ONCE } from '../retries-at-once.js';
import { createTestClock } from '../test-clock.js';
import { openNode } from './open-node.js';

/** Creates submissions in groups. The test decides when a group ends. */
function openGroups() {
  const groups: string[][] = [];
  const ends: (() => void)[] = [];
  const submissions = createSubmissions(async (jobs) => {
    groups.push(jobs.map(({ jobId }) => jobId));
    await new Promise<void>((resolve) => void ends.push(resolve));
    return jobs.map(({ jobId }) =>
      jobId.endsWith('bad')
        ? { status: 'rejected', reason: new Error(jobId) }
        : { status: 'fulfilled', value: { job_id: jobId } as JobStatus },
    );
  });
  return {
    groups,
    submissions,
    submit: (id: string) => submissions.submit(createJob(id)).catch((thrown: Error) => thrown.message),
    /** Ends a group whose write has begun. */
    async end(group: number): Promise<void> {
      while (ends.length <= group) await Promise.resolve();
      ends[group]!();
    },
  };
}

test('jobs that arrive during a write are one group, and jobs of one id follow each other', async () => {
  const { groups, submissions, submit, end } = openGroups();
  const first = submit('a');
  while (groups.length === 0) await Promise.resolve();
  const otherSubmissions = ['b', 'bad', 'b', 'c'].map(submit);
  for (const group of [0, 1, 2]) await end(group);
  expect(await first).toEqual({ job_id: 'backtest:a' });
  expect((await Promise.all(otherSubmissions))[1]).toBe('backtest:bad');
  await submissions.idle();
  expect(groups).toEqual([['backtest:a'], ['backtest:b', 'backtest:bad'], ['backtest:b', 'backtest:c']]);
});

test('a group that cannot be written rejects each of its jobs, and the next one is written', async () => {
  let isAway = true;
  const submissions = createSubmissions(async (jobs) => {
    if (isAway) throw new Error('away');
    return jobs.map(() => ({ status: 'fulfilled', value: {} as JobStatus }));
  });
  const outcomes = await Promise.allSettled(['a', 'b'].map((id) => submissions.submit(createJob(id))));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isAway = false;
  expect(await submissions.submit(createJob('a'))).toEqual({});
});

test('a cancellation waits for the pending submissions of its job only', async () => {
  const { groups, submissions, submit, end } = openGroups();
  const first = submit('first');
  while (groups.length === 0) await Promise.resolve();
  const second = submit('second');
  await submissions.of('backtest:absent');
  const notifications: string[] = [];
  const bothSubmissions = [
    first.then(() => void notifications.push('first')),
    submissions.of('backtest:second').then(() => void notifications.push('second')),
  ];
  await end(0);
  await first;
  expect(notifications).toEqual(['first']);
  await end(1);
  await Promise.all([...bothSubmissions, second, submissions.idle()]);
  expect(notifications).toEqual(['first', 'second']);
});

test.skipIf(!hasPostgresql)(
  'jobs submitted together are one commit, in their order and within the limits',
  async () => {
    const world = await openTestSchema();
    const limits = { queueMax: 31, ownerQueueMax: 100, endedMax: 10_000, jobBytesMax: 1000, leaseMs: LEASE_MS };
    const { queue, statements, close } = await openNode(
      world,
      { ...limits, getRetryPolicy: RETRIES_AT_ONCE },
      createTestClock(),
    );
    await queue.submit(createJob('first')); // the first submission queries the memory of the nodes
    const before = statements.length;
    const ids = Array.from({ length: 35 }, (_, i) => `j${i}`);
    const outcomes = await Promise.allSettled(ids.map((id) => queue.submit(createJob(id))));
    expect(statements.length - before).toBe(2);
    const refusals = outcomes.flatMap((outcome, i) =>
      outcome.status === 'rejected' ? [[i, outcome.reason.code]] : [],
    );
    expect(refusals).toEqual([30, 31, 32, 33, 34].map((i) => [i, 'OVERLOADED']));
    const [writtenRow] = await world.query(
      `SELECT count(DISTINCT xmin::text)::int AS commits, count(*)::int AS documents FROM $schema.documents
      WHERE kind IN ('job', 'job-input') AND id <> 'backtest:first'`,
    );
    expect(writtenRow).toEqual({ commits: 1, documents: 60 });
    const line = await world.query('SELECT job_id FROM $schema.jobs ORDER BY turn');
    const acceptedJobs = ids.slice(0, 30).map((id) => ({ job_id: `backtest:${id}` }));
    expect(line).toEqual([{ job_id: 'backtest:first' }, ...acceptedJobs]);
    await close();
    await world.drop();
  },
);
