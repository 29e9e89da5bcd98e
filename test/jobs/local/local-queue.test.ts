import { describe, expect, test, vi } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { createLocalQueue } from '#jobs/local/queue.js';
import { createPausedKinds } from '#jobs/port/job-kind.js';
import type { BeginClaim, Claim, EndedJob, NewJob, QueueLimits } from '#jobs/port/queue.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { describeJobQueue } from '../queue-port-contract.js';
import type { OpenedQueue } from '../queue-port-world.js';
import { createTestClock, type TestClock } from '../test-clock.js';
import { RETRIES_AT_ONCE } from '../retries-at-once.js';

const createFolder = openTemporaryFolders();
const quietLog = { info: () => {}, warn: () => {}, error: () => {} };

async function openOn(
  path: string,
  limits: QueueLimits,
  time: TestClock,
  ended: EndedJob[] = [],
): Promise<OpenedQueue> {
  const home = await openHome(path);
  const { documents, close } = await openStore({ home, onFailure: () => {} });
  const { clock, pass } = time;
  const pausedKinds = await createPausedKinds(documents, clock, false);
  const onEnded = (job: EndedJob) => void ended.push(job);
  const queue = createLocalQueue({ store: documents, clock, limits, log: quietLog, onEnded, paused: pausedKinds });
  let isOpen = true;
  const end = async (): Promise<void> => {
    if (isOpen) for (const resource of [{ close }, home]) await resource.close();
    isOpen = false;
  };
  let laterQueue: OpenedQueue | undefined;
  return {
    queue,
    documents,
    paused: pausedKinds,
    pass,
    async reopen() {
      await end();
      return (laterQueue = await openOn(path, limits, time, ended));
    },
    async discard() {
      await end();
      await laterQueue?.discard();
    },
  };
}

describeJobQueue('the local queue', async (limits) => openOn(await createFolder(), limits, createTestClock()));

const LIMITS: QueueLimits = {
  getRetryPolicy: RETRIES_AT_ONCE,
  queueMax: 4,
  ownerQueueMax: 4,
  endedMax: 100,
  jobBytesMax: 1000,
  leaseMs: 60_000,
};
const job: NewJob = {
  jobId: 'backtest:a',
  kind: 'backtest',
  inputHash: 'a',
  payload: null,
  request: null,
  estimatedBytes: 1,
  message: undefined,
  origin: null,
};
const getCapacity = () => ({ lanes: [], freeBytes: 0 });
const node = { onWork: () => {}, findProgress: () => undefined, getFreeCapacity: getCapacity };
const order = { lane: 'heavy', exceptOwners: new Set<string>(), freeBytes: 1, take: () => true } as const;

async function addJob(work: (world: OpenedQueue & { time: TestClock; ended: EndedJob[] }) => Promise<void>) {
  const time = createTestClock();
  const endedJobs: EndedJob[] = [];
  const world = await openOn(await createFolder(), LIMITS, time, endedJobs);
  await world.queue.join(node);
  await world.queue.submit(job);
  try {
    await work({ ...world, time, ended: endedJobs });
  } finally {
    await world.discard();
  }
}

test.each([3_600_000, -3_600_000, 86_400_000 * 366])('a wall clock set by %d ms ends no lease', (jumpMs) =>
  addJob(async ({ queue, time }) => {
    const { lease } = (await queue.claim(order))!;
    time.jump(jumpMs);
    await time.pass(59_000);
    expect(await queue.heartbeat(lease)).toBe(true);
    expect((await queue.find('backtest:a'))!.status).toMatchObject({ status: 'running', attempt: 1 });
  }),
);

test('an ended job is reported with its outcome and the times of its last attempt', () =>
  addJob(async ({ queue, time, ended }) => {
    await queue.submit({ ...job, jobId: 'backtest:never' });
    await time.pass(2000);
    const { lease } = (await queue.claim(order))!;
    await time.pass(5000);
    await queue.cancel('backtest:never');
    await queue.complete(lease, { type: 'succeed', result: { value: 1 }, message: 'Done.' });
    expect(ended).toEqual([
      { jobId: 'backtest:never', owner: '', kind: 'backtest', outcome: 'cancelled', seconds: null, waitSeconds: null },
      { jobId: 'backtest:a', owner: '', kind: 'backtest', outcome: 'succeeded', seconds: 5, waitSeconds: 2 },
    ]);
  }));

test('a node is notified when a paused kind is resumed', async () => {
  const { queue, paused, discard } = await openOn(await createFolder(), LIMITS, createTestClock());
  let calls = 0;
  await queue.join({
    onWork: () => void calls++,
    findProgress: () => undefined,
    getFreeCapacity: () => ({ lanes: [], freeBytes: 0 }),
  });
  const by = { author: 'ada', keyId: null, note: null, requestId: '' };
  await paused.pause('backtest', { paused_at: '2024-06-28T00:00:00.000Z', author: 'ada', reason: null }, by);
  const before = calls;
  await paused.resume('backtest', by);
  expect(calls).toBe(before + 1);
  await discard();
});

describe('a node with free capacity', () => {
  /** Opens a queue whose node reserves capacity for as many jobs as given, and records the claims. */
  async function openReserving(capacity: number) {
    const world = await openOn(await createFolder(), LIMITS, createTestClock());
    const claims: Promise<Claim | undefined>[] = [];
    const offers: string[] = [];
    const begin: BeginClaim = (claimed) => void claims.push(claimed);
    await world.queue.join({
      ...node,
      reserve({ job_id: jobId }) {
        offers.push(jobId);
        return claims.length < capacity ? begin : undefined;
      },
    });
    return { ...world, claims, offers, transaction: vi.spyOn(world.documents, 'transaction') };
  }

  test('runs a job that one transaction stores as running', async () => {
    const { queue, documents, claims, transaction, discard } = await openReserving(1);
    const payload = { of: 'a', value: 1 };
    expect(await queue.submit({ ...job, payload })).toMatchObject({ status: 'pending', attempt: 1, started_at: null });
    expect(transaction).toHaveBeenCalledTimes(1);
    expect(await documents.get('job', 'backtest:a')).toMatchObject({ body: { status: 'running' } });
    const { lease, input } = (await claims[0])!;
    expect(input).toEqual({ payload });
    expect((await queue.find('backtest:a'))!.status).toMatchObject({ status: 'running', attempt: 1 });
    expect(await queue.claim(order)).toBeUndefined();
    await queue.complete(lease, { type: 'succeed', result: { value: 1 }, message: 'Done.' });
    expect((await queue.find('backtest:a'))!.status).toMatchObject({ status: 'succeeded', result: 1 });
    await discard();
  });

  test('is not offered a job while an earlier one waits or its kind is paused', async () => {
    const { queue, paused, offers, claims, discard } = await openReserving(0);
    await queue.submit(job);
    await queue.submit({ ...job, jobId: 'backtest:b' });
    expect(offers).toEqual(['backtest:a']);
    expect((await queue.claim(order))!.job.job_id).toBe('backtest:a');
    expect((await queue.claim(order))!.job.job_id).toBe('backtest:b');
    const by = { author: 'ada', keyId: null, note: null, requestId: '' };
    await paused.pause('backtest', { paused_at: '2024-06-28T00:00:00.000Z', author: 'ada', reason: null }, by);
    await queue.submit({ ...job, jobId: 'backtest:c' });
    expect(offers).toEqual(['backtest:a']);
    expect(claims).toEqual([]);
    await discard();
  });

  test('gets no claim of a job that could not be stored', async () => {
    const { queue, claims, transaction, discard } = await openReserving(1);
    transaction.mockRejectedValueOnce(new Refusal('STORAGE_FULL', 'The disk is full.'));
    await expect(queue.submit(job)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(await claims[0]).toBeUndefined();
    expect(await queue.find('backtest:a')).toBeUndefined();
    await discard();
  });
});
