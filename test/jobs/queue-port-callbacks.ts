import { describe, expect, test } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import { readDelivery } from '#jobs/port/callbacks.js';
import type { NewJob } from '#jobs/port/queue.js';
import { createJob, succeed, type Queues } from './queue-port-world.js';

const createCallbackJob = (url: string): Partial<NewJob> => ({
  origin: { owner: 'key', requestId: 'r', author: null, note: null, traceId: null, callback: url },
});

export function describeCallbacks({ joined }: Queues): void {
  describe('a callback', () => {
    test('is one message for each client once the job has ended, and none before', async () => {
      const { queue, documents, claimed, statusOf: readJobStatus } = await joined();
      const dueCallbacks: string[] = [];
      documents.subscribe('delivery-due', ({ delivery_id: id }) => void dueCallbacks.push(id));
      const urls = ['https://one.test/', 'https://two.test/'];
      // Two submissions of equal work create one job with two callbacks. If a request is repeated, it adds no callback.
      for (const url of [...urls, ...urls]) await queue.submit(createJob('a', createCallbackJob(url)));
      await queue.submit(createJob('a'));
      expect((await readJobStatus('a'))!.callbacks).toMatchObject(
        urls.map((url) => ({ url, state: 'waiting', attempts: 0 })),
      );
      const { lease } = await claimed();
      expect(await documents.ids('delivery')).toEqual([]);
      await queue.complete(lease, succeed);
      const { callbacks, finished_at: endedAt, result } = (await readJobStatus('a'))!;
      expect(callbacks).toMatchObject(urls.map((url) => ({ url, state: 'due', next_attempt_at: endedAt })));
      expect(result).toBe(42);
      const { documents: messages } = await documents.list('delivery', readDelivery);
      expect(dueCallbacks.toSorted()).toEqual(messages.map(({ delivery_id: id }) => id).toSorted());
      for (const { url, body } of messages) {
        expect(urls).toContain(url);
        expect(JSON.parse(body)).toMatchObject({
          type: 'job.succeeded',
          timestamp: endedAt,
          data: { job_id: 'backtest:a', status: 'succeeded', request: { start: null }, result: null },
        });
      }
    });

    test('reports cancelled and failed jobs as well', async () => {
      const { queue, documents, claimed } = await joined();
      await queue.submit(createJob('a', createCallbackJob('https://one.test/')));
      await queue.cancel('backtest:a');
      await queue.submit(createJob('b', createCallbackJob('https://one.test/')));
      const error = { code: 'INTERNAL', message: 'It failed.', detail: null } as const;
      await queue.complete((await claimed()).lease, { type: 'fail', error });
      const { documents: messages } = await documents.list('delivery', readDelivery);
      expect(messages.map(({ body }) => JSON.parse(body).type).toSorted()).toEqual(['job.cancelled', 'job.failed']);
    });

    test('is refused beyond the maximum number of callbacks of a job', async () => {
      const { queue } = await joined();
      const submit = (i: number) => queue.submit(createJob('a', createCallbackJob(`https://one.test/${i}`)));
      for (let i = 0; i < LIMITS.MAX_JOB_CALLBACKS; i++) await submit(i);
      await expect(submit(LIMITS.MAX_JOB_CALLBACKS)).rejects.toMatchObject({ code: 'OVERLOADED' });
    });
  });
}
