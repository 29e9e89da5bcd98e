import { describe, expect, test } from 'vitest';
import { RETRY_DEFAULTS } from '#domain/outputs/jobs.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Claim, JobQueue } from '#jobs/port/queue.js';
import type { DocumentTransaction } from '#store/port.js';
import { parsePolicies } from './retries-at-once.js';
import { createJob, LEASE_MS, succeed, type OpenedQueue, type Queues } from './queue-port-world.js';
import { waitFor } from '../waiting.js';

/** Tests what every queue guarantees about running attempts: ends, cancellation, leases, watching. */
export function describeAttempts({ joined, joinAs }: Queues): void {
  describe('the end of an attempt', () => {
    test('is atomic with its effect, and removes the payload', async () => {
      const { queue, claimed, documents, statusOf: readJobStatus } = await joined();
      await queue.submit(createJob('a'));
      const { lease } = await claimed();
      const writeEffect = async (tx: DocumentTransaction) => void (await tx.put('run', 'a', { n: 1 }));
      expect(await queue.complete(lease, { ...succeed, effect: writeEffect })).toBe(true);
      expect(await readJobStatus('a')).toMatchObject({ status: 'succeeded', result: 42, progress: 1 });
      expect(await documents.get('run', 'a')).toMatchObject({ body: { n: 1 } });
      expect(await documents.get('job-input', 'backtest:a')).toBeUndefined();
      expect(await queue.isLive('backtest:a')).toBe(false);
    });

    test('does not happen if its effect is refused: nothing is written, and the attempt continues', async () => {
      const { queue, claimed, documents, statusOf: readJobStatus } = await joined();
      await queue.submit(createJob('a'));
      const { lease } = await claimed();
      const refusal = queue.complete(lease, {
        ...succeed,
        async effect(tx) {
          await tx.put('run', 'a', {});
          throw new Refusal('INDEX_DELETED', 'gone');
        },
      });
      await expect(refusal).rejects.toMatchObject({ code: 'INDEX_DELETED' });
      expect([await documents.get('run', 'a'), (await readJobStatus('a'))?.status]).toEqual([undefined, 'running']);
      const error = { code: 'INDEX_DELETED', message: 'gone', detail: null } as const;
      expect(await queue.complete(lease, { type: 'fail', error })).toBe(true);
      expect(await readJobStatus('a')).toMatchObject({ status: 'failed', error });
    });

    test('happens once: a stale attempt changes nothing, of this submission or a later one', async () => {
      const { queue, claimed, documents, pass, statusOf: readJobStatus, reach } = await joined();
      const countedLimits = {
        ...succeed,
        effect: async (tx: DocumentTransaction) => void (await tx.put('run', 'a', {})),
      };
      const isIgnored = async (lease: Claim['lease']) => {
        const before = await readJobStatus('a');
        expect([await queue.heartbeat(lease), await queue.complete(lease, countedLimits)]).toEqual([false, false]);
        expect([await readJobStatus('a'), await documents.get('run', 'a')]).toEqual([before, undefined]);
      };
      await queue.submit(createJob('a'));
      const releasedLease = (await claimed()).lease;
      await queue.complete(releasedLease, { type: 'release', cause: 'the test asks' });
      const silentLease = (await claimed()).lease;
      await isIgnored(releasedLease);
      await pass(LEASE_MS + 2000);
      await reach('a', 'pending');
      const cancelledLease = (await claimed()).lease;
      await isIgnored(silentLease);
      await queue.cancel('backtest:a');
      await isIgnored(cancelledLease);
      await queue.submit(createJob('a'));
      const laterLease = (await claimed()).lease;
      expect([releasedLease.attempt, silentLease.attempt, cancelledLease.attempt, laterLease.attempt]).toEqual([
        1, 2, 3, 1,
      ]);
      for (const stale of [releasedLease, silentLease, cancelledLease]) await isIgnored(stale);
      const ends = await Promise.all([laterLease, laterLease].map((lease) => queue.complete(lease, countedLimits)));
      expect(ends.toSorted()).toEqual([false, true]);
    });

    test('after three crashes fails the job; releases do not count', async () => {
      const { queue, claimed, statusOf: readJobStatus } = await joined();
      await queue.submit(createJob('a'));
      for (const type of ['crash', 'release', 'crash', 'release', 'release'] as const)
        await queue.complete((await claimed()).lease, { type, cause: 'code 3' });
      expect(await readJobStatus('a')).toMatchObject({ status: 'pending', attempt: 6, progress: 0, started_at: null });
      await queue.complete((await claimed()).lease, { type: 'crash', cause: 'code 3' });
      const detail = { attempts: 3, cause: 'code 3', end: 'crashed', crashes: 3, losses: 0, releases: 3 };
      const failedStatus = await readJobStatus('a');
      expect(failedStatus).toMatchObject({ status: 'failed', error: { code: 'WORKER_CRASHED', detail } });
      const ends = ['crashed', 'released', 'crashed', 'released', 'released', 'crashed'];
      expect(failedStatus?.attempts.map(({ attempt, end }) => [attempt, end])).toEqual(
        ends.map((end, i) => [i + 1, end]),
      );
    });

    test('by a loss delays the next attempt if the policy requires it', async () => {
      const { queue, claim, claimed, pass } = await joined({ getRetryPolicy: parsePolicies('losses=9,backoff=20') });
      await queue.submit(createJob('a'));
      await queue.submit(createJob('b'));
      const lose = { type: 'lose', cause: 'the test asks' } as const;
      const first = (await claimed()).lease;
      await queue.complete(first, lose);
      const second = (await claimed()).lease;
      expect([first, second].map(({ jobId, attempt }) => [jobId, attempt])).toEqual([
        ['backtest:a', 1],
        ['backtest:a', 2],
      ]);
      await queue.complete(second, lose);
      // Other jobs do not wait for this job. The job itself waits between ten and twenty seconds.
      expect([(await claimed()).lease.jobId, await claim()]).toEqual(['backtest:b', undefined]);
      await pass(9000);
      expect(await claim()).toBeUndefined();
      await pass(12_000);
      expect((await claimed()).lease).toMatchObject({ jobId: 'backtest:a', attempt: 3 });
    });

    test('that queues the job again makes it the next of its owner', async () => {
      const { queue, claimed } = await joined();
      for (const id of ['a', 'b']) await queue.submit(createJob(id));
      await queue.complete((await claimed()).lease, { type: 'release', cause: 'the test asks' });
      expect((await claimed()).lease).toMatchObject({ jobId: 'backtest:a', attempt: 2 });
    });
  });

  describe('retrying', () => {
    const error = { code: 'MISSING_PRICE', message: 'No price.', detail: null } as const;

    test('a retry of a failed job queues its stored input again, after the causes of its failure', async () => {
      const { queue, claimed, statusOf: readJobStatus, documents, reopen } = await joined();
      const origin = { owner: 'key', requestId: 'r', traceId: 't', author: 'Ada', note: null, callback: null };
      await queue.submit(createJob('a', { origin }));
      await queue.complete((await claimed()).lease, { type: 'crash', cause: 'code 3' });
      await queue.complete((await claimed()).lease, { type: 'fail', error });
      expect(await queue.retry('backtest:a')).toMatchObject({ status: 'pending', attempt: 3, error: null });
      const secondClaim = await claimed();
      expect(secondClaim).toMatchObject({ input: { payload: { of: 'a' } }, job: { owner: 'key', author: 'Ada' } });
      expect((await readJobStatus('a'))?.attempts.map(({ end, reason }) => [end, reason])).toEqual([
        ['crashed', 'code 3'],
        ['failed', 'No price.'],
        [null, null],
      ]);
      // If the job has not ended, a retry returns it unchanged.
      expect(await queue.retry('backtest:a')).toMatchObject({ status: 'running', attempt: 3 });
      expect(await queue.complete(secondClaim.lease, succeed)).toBe(true);
      expect(await queue.retry('backtest:a')).toMatchObject({ status: 'succeeded' });
      expect(await documents.get('job-input', 'backtest:a')).toBeUndefined();
      await expect(queue.retry('backtest:none')).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
      const after = await reopen();
      expect((await after.queue.find('backtest:a'))?.status).toMatchObject({ status: 'succeeded', attempt: 3 });
    });

    test('a job with a deleted input is refused, and a deleted job leaves no input', async () => {
      const { queue, claimed, documents } = await joined({ endedMax: 1 });
      await queue.submit(createJob('a'));
      await queue.complete((await claimed()).lease, { type: 'fail', error });
      await documents.transaction(async (tx) => void (await tx.delete('job-input', 'backtest:a')));
      await expect(queue.retry('backtest:a')).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' });
      for (const id of ['b', 'c', 'd']) {
        await queue.submit(createJob(id));
        await queue.complete((await claimed()).lease, { type: 'fail', error });
      }
      await queue.submit(createJob('e'));
      expect(await documents.ids('job-input')).toEqual(['backtest:d', 'backtest:e']);
    });
  });

  describe('cancelling', () => {
    test('a waiting job removes it from the queue', async () => {
      const { queue, claim } = await joined();
      await queue.submit(createJob('a'));
      expect(await queue.cancel('backtest:a')).toMatchObject({ status: 'cancelled', error: null, result: null });
      expect(await claim()).toBeUndefined();
    });

    test('a running job has ended when the response is sent, and its node learns of it by the next heartbeat', async () => {
      const { queue, claimed } = await joined();
      await queue.submit(createJob('a'));
      const { lease } = await claimed();
      expect(await queue.cancel('backtest:a')).toMatchObject({ status: 'cancelled' });
      expect(await queue.heartbeat(lease)).toBe(false);
      expect(lease.isLost).toBe(true);
    });

    test('at the time of success has one of the two outcomes, with the matching effect', async () => {
      const { queue, claimed, documents } = await joined();
      for (let round = 0; round < 10; round++) {
        await queue.submit(createJob('a'));
        const { lease } = await claimed();
        const writeEffect = async (tx: DocumentTransaction) => void (await tx.put('run', `r${round}`, {}));
        const end = () => queue.complete(lease, { ...succeed, effect: writeEffect });
        const cancel = () => queue.cancel('backtest:a');
        const [first, second] = await Promise.all(round % 2 === 0 ? [end(), cancel()] : [cancel(), end()]);
        const [counted, status] = round % 2 === 0 ? [first, second] : [second, first];
        const isThere = (await documents.get('run', `r${round}`)) !== undefined;
        expect([counted, (status as { status: string }).status]).toEqual(
          isThere ? [true, 'succeeded'] : [false, 'cancelled'],
        );
      }
    });

    test('an ended job returns it unchanged; an unknown job is refused', async () => {
      const { queue, claimed, statusOf: readJobStatus } = await joined();
      await queue.submit(createJob('a'));
      await queue.complete((await claimed()).lease, succeed);
      expect(await queue.cancel('backtest:a')).toEqual(await readJobStatus('a'));
      await expect(queue.cancel('backtest:none')).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    });
  });

  describe('a lease', () => {
    test('expires without heartbeats, and its job is queued again; with heartbeats it continues', async () => {
      const { queue, claimed, pass, statusOf: readJobStatus, reach } = await joined();
      for (const id of ['silent', 'alive']) await queue.submit(createJob(id));
      const [silent, alive] = [(await claimed()).lease, (await claimed()).lease];
      for (let second = 0; second < LEASE_MS / 1000 + 2; second++) {
        await pass(1000);
        expect(await queue.heartbeat(alive)).toBe(true);
      }
      await reach('silent', 'pending');
      expect([await queue.heartbeat(silent), silent.isLost]).toEqual([false, true]);
      expect(await readJobStatus('silent')).toMatchObject({ status: 'pending', attempt: 2 });
      expect(await readJobStatus('alive')).toMatchObject({ status: 'running', attempt: 1 });
    });

    test('that is lost three times fails no job by the default policy, because nothing has crashed', async () => {
      const {
        queue,
        claimed,
        pass,
        statusOf: readJobStatus,
        reach,
      } = await joined({ getRetryPolicy: () => RETRY_DEFAULTS });
      await queue.submit(createJob('a'));
      for (let attempt = 1; attempt <= 3; attempt++) {
        const { lease } = await claimed();
        expect(lease.attempt).toBe(attempt);
        await pass(LEASE_MS + 2000);
        await reach('a', 'pending');
        await pass(5000); // longer than the wait before the third attempt
      }
      await queue.complete((await claimed()).lease, succeed);
      const endedStatus = await readJobStatus('a');
      expect(endedStatus).toMatchObject({ status: 'succeeded', attempt: 4, error: null });
      expect(endedStatus?.attempts.map(({ end }) => end)).toEqual(['lost', 'lost', 'lost', 'succeeded']);
    });

    test('of a process that ended counts as lost, and its job is the first again', async () => {
      const first = await joined();
      for (const id of ['a', 'b', 'c']) await first.queue.submit(createJob(id));
      for (let i = 0; i < 2; i++) await first.claim();
      let world: OpenedQueue = first;
      for (let crash = 1; crash <= 3; crash++) {
        world = await world.reopen();
        const { recovered, claim } = await joinAs(world.queue);
        expect(recovered).toBe(2);
        const next = crash < 3 ? [await claim(), await claim()] : [await claim()];
        expect(next.map((claim) => claim?.lease.jobId)).toEqual(
          crash < 3 ? ['backtest:a', 'backtest:b'] : ['backtest:c'],
        );
      }
      const { jobs: failed } = await world.queue.list({ statuses: ['failed'], limit: 10 });
      expect(failed.map(({ job_id: id, error }) => [id, error?.code])).toEqual([
        ['backtest:b', 'JOB_INTERRUPTED'],
        ['backtest:a', 'JOB_INTERRUPTED'],
      ]);
    });
  });

  describe('watching', () => {
    test('calls after every change of the job, including progress, and not after it is stopped', async () => {
      const { queue, claimed, state, pass } = await joined();
      await queue.submit(createJob('a'));
      const seenStatuses: string[] = [];
      const looks: Promise<void>[] = [];
      const readStatus = async () => {
        const { status, progress, message } = (await queue.find('backtest:a'))!.status;
        seenStatuses.push(`${status} ${progress} ${message}`);
      };
      const stop = queue.watch('backtest:a', () => void looks.push(readStatus()));
      // Polls the queue, because a database responds after a variable time.
      const isSeen = (lease: Claim['lease'], last: string) =>
        waitFor(async () => {
          await queue.heartbeat(lease);
          await pass(1000);
          await Promise.all(looks);
          expect(seenStatuses.at(-1)).toBe(last);
        });
      const { lease } = await claimed();
      state.progress = { fraction: 0.5, message: 'Half.' };
      await isSeen(lease, 'running 0.5 Half.');
      state.progress = { fraction: 0.25, message: 'Less.' };
      await isSeen(lease, 'running 0.5 Less.');
      stop();
      await queue.cancel('backtest:a');
      expect(seenStatuses.at(-1)).toBe('running 0.5 Less.');
      expect((await queue.find('backtest:a'))!.status).toMatchObject({ status: 'cancelled', progress: 0.5 });
    });

    test('counts changes upwards, also over restarts', async () => {
      const { queue, reopen, pass } = await joined();
      const readRevision = async (jobQueue: JobQueue) => (await jobQueue.find('backtest:a'))!.revision;
      await queue.submit(createJob('a'));
      const pendingRevision = await readRevision(queue);
      await queue.cancel('backtest:a');
      const cancelledRevision = await readRevision(queue);
      expect(cancelledRevision).toBeGreaterThan(pendingRevision);
      await pass(1000);
      const after = await reopen();
      await joinAs(after.queue);
      expect(await readRevision(after.queue)).toBeGreaterThanOrEqual(cancelledRevision);
    });
  });
}
