import { describe, expect, test } from 'vitest';
import type { JobPriority } from '#domain/outputs/job-priority.js';
import type { NewJob } from '#jobs/port/queue.js';
import { createOrigin, createJob, succeed, type Queues } from './queue-port-world.js';

/** Tests pauses, and the order in which jobs start by priority. */
export function describeOrder({ joined, joinAs }: Queues): void {
  describe('the order of starts', () => {
    test('high priorities start before normal and low ones, of any owner, also after a restart and a retry', async () => {
      const { queue, claimed, reopen } = await joined();
      const describeJob = (owner: string, priority: JobPriority): Partial<NewJob> => ({
        origin: { ...createOrigin(owner).origin!, priority },
      });
      await queue.submit(createJob('low', describeJob('a', 'low')));
      await queue.submit(createJob('n1', createOrigin('a')));
      await queue.submit(createJob('n2', createOrigin('b')));
      await queue.submit(createJob('h1', describeJob('a', 'high')));
      await queue.submit(createJob('h2', describeJob('a', 'high')));
      const failingClaim = await claimed();
      expect(failingClaim.lease.jobId).toBe('backtest:h1');
      const error = { code: 'INTERNAL', message: 'as the test wants', detail: null } as const;
      expect(await queue.complete(failingClaim.lease, { type: 'fail', error })).toBe(true);
      expect((await queue.retry('backtest:h1')).priority).toBe('high');
      expect((await queue.lanes()).heavy.waiting).toBe(5);
      const world = await reopen();
      const { claim } = await joinAs(world.queue);
      const order: string[] = [];
      for (let next = await claim(); next !== undefined; next = await claim()) order.push(next.lease.jobId.slice(9));
      expect(order).toEqual(['h2', 'h1', 'n1', 'n2', 'low']);
    });

    test('jobs of a paused kind wait, in their order, until it is resumed', async () => {
      const { queue, claim, claimed, reopen, paused } = await joined();
      const by = { author: 'ada', keyId: null, note: null, requestId: '' };
      const pause = { paused_at: '2024-06-28T00:00:00.000Z', author: 'ada', reason: 'month end' };
      for (const id of ['b1', 'b2']) await queue.submit(createJob(id));
      await paused.pause('backtest', pause, by);
      await queue.submit(createJob('o', { jobId: 'optimise:o', kind: 'optimise' }));
      const other = await claimed();
      expect(other.lease.jobId).toBe('optimise:o');
      await queue.complete(other.lease, succeed);
      expect(await claim()).toBeUndefined();
      const reopenedQueue = await reopen();
      const { claim: claimLater } = await joinAs(reopenedQueue.queue);
      expect(await claimLater()).toBeUndefined();
      expect(await reopenedQueue.paused.get('backtest')).toEqual(pause);
      await reopenedQueue.paused.resume('backtest', by);
      const resumedJobs = [await claimLater(), await claimLater(), await claimLater()];
      expect(resumedJobs.map((each) => each?.lease.jobId)).toEqual(['backtest:b1', 'backtest:b2', undefined]);
    });
  });
}
