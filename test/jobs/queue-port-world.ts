import { afterEach } from 'vitest';
import type { TaskProgress } from '#jobs/port/compute-pool.js';
import type { PausedKinds } from '#jobs/port/job-kind.js';
import type { Claim, ClaimOrder, JobQueue, NewJob, QueueLimits } from '#jobs/port/queue.js';
import type { DocumentStore } from '#store/port.js';
import { RETRIES_AT_ONCE } from './retries-at-once.js';

/** A queue that a test can open, open again and discard. */
export interface OpenedQueue {
  readonly queue: JobQueue;
  /** Documents that effects of jobs write. */
  readonly documents: DocumentStore;
  readonly paused: PausedKinds;
  /** Advances the clock that determines leases. */
  pass(ms: number): Promise<void>;
  /** Opens the queue again on the same data, as after a crash of its process. */
  reopen(): Promise<OpenedQueue>;
  /** Closes the queue and deletes its data. */
  discard(): Promise<void>;
}

export type OpenQueue = (limits: QueueLimits) => Promise<OpenedQueue>;

export const LEASE_MS = 60_000;
const LIMITS: QueueLimits = {
  getRetryPolicy: RETRIES_AT_ONCE,
  queueMax: 100,
  ownerQueueMax: 100,
  endedMax: 100,
  jobBytesMax: 1000,
  leaseMs: LEASE_MS,
};

export const createJob = (ident: string, overrides: Partial<NewJob> = {}): NewJob => ({
  jobId: `backtest:${ident}`,
  kind: 'backtest',
  inputHash: ident,
  payload: { of: ident },
  request: { start: null },
  estimatedBytes: 1,
  message: undefined,
  origin: null,
  ...overrides,
});
export const createOrigin = (owner: string): Partial<NewJob> => ({
  origin: { owner, requestId: 'request', author: null, note: null, traceId: null, callback: null },
});
export const createLightJob = (ident: string): NewJob => createJob(ident, { jobId: `render:${ident}`, kind: 'render' });
export const succeed = { type: 'succeed', result: { value: 42 }, message: 'Done.' } as const;

/** Creates queues for one test. They are closed after the test. */
export function createQueues(open: OpenQueue) {
  const openedQueues: OpenedQueue[] = [];
  afterEach(async () => {
    for (const queue of openedQueues.splice(0)) await queue.discard();
  });

  async function joinQueue(limits: Partial<QueueLimits> = {}) {
    const world = await open({ ...LIMITS, ...limits });
    openedQueues.push(world);
    return { ...world, ...(await joinAs(world.queue)) };
  }

  async function joinAs(queue: JobQueue) {
    const state = { calls: 0, progress: undefined as TaskProgress | undefined, freeBytes: LIMITS.jobBytesMax };
    const getFreeCapacity = () => ({ lanes: ['heavy', 'light'] as const, freeBytes: state.freeBytes });
    const recoveredCount = await queue.join({
      onWork: () => void state.calls++,
      findProgress: () => state.progress,
      getFreeCapacity,
    });
    const claim = (order: Partial<ClaimOrder> = {}): Promise<Claim | undefined> =>
      queue.claim({ lane: 'heavy', exceptOwners: new Set(), freeBytes: state.freeBytes, take: () => true, ...order });
    const requireClaim = async (order: Partial<ClaimOrder> = {}): Promise<Claim> => (await claim(order))!; // a job is available
    const readJobStatus = async (ident: string) => (await queue.find(`backtest:${ident}`))?.status;
    /** Resolves when a job has reached a state. */
    const reach = (ident: string, status: string): Promise<void> =>
      new Promise((resolve) => {
        // after the end of the test, a poll finds a closed store
        const isInStatus = async () => (await readJobStatus(ident))?.status === status && (stop(), resolve());
        const stop = queue.watch(`backtest:${ident}`, () => void isInStatus().catch(() => {}));
        void isInStatus().catch(() => {});
      });
    return { state, recovered: recoveredCount, claim, claimed: requireClaim, statusOf: readJobStatus, reach };
  }

  return { joined: joinQueue, joinAs };
}

export type Queues = ReturnType<typeof createQueues>;
