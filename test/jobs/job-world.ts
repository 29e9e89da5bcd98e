import { onTestFinished } from 'vitest';
import { type ComputePool, TaskStopped } from '#jobs/port/compute-pool.js';
import { createJobSystem } from '#jobs/job-system.js';
import type { JobKind, JobSystem, NodeLimits, Submission } from '#jobs/port/job-kind.js';
import { createLocalQueue } from '#jobs/local/queue.js';
import type { QueueLimits } from '#jobs/port/queue.js';
import { type Home, openHome } from '#store/home/home.js';
import { openStore, type Store } from '#store/open-store.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { createTestClock, type TestClock } from './test-clock.js';
import { RETRIES_AT_ONCE } from './retries-at-once.js';

export const MiB = 2 ** 20;
const LIMITS: NodeLimits & QueueLimits = {
  getRetryPolicy: RETRIES_AT_ONCE,
  queueMax: 100,
  ownerQueueMax: 1000,
  endedMax: 1000,
  jobBytesMax: 100 * MiB,
  leaseMs: 60_000,
  runningMax: { heavy: 2, light: 1 },
  ownerRunningMax: 1000,
  memoryBytes: 100 * MiB,
  jobMsMax: 3_600_000,
  cancelGraceMs: 2000,
  queryMsMax: 1000,
};

export interface PendingTask {
  readonly input: unknown;
  finish(output: unknown): void;
  fail(reason: unknown): void;
  readonly signal: AbortSignal | undefined;
  fraction: number;
  isAlive: boolean;
}

/** Creates a pool in which the test decides when a task ends. A cancellation signal stops a task immediately. */
function createTestPool() {
  const tasks: PendingTask[] = [];
  const pool: ComputePool = {
    run({ input, signal }) {
      let task!: PendingTask;
      const output = new Promise<never>((resolve, reject) => {
        task = {
          input,
          signal,
          fraction: 0,
          isAlive: true,
          finish: (value) => resolve(value as never),
          fail: reject,
        };
        tasks.push(task);
        signal?.addEventListener('abort', () => reject(new TaskStopped('stopped')));
      });
      return {
        output,
        progress: () => ({ fraction: task.fraction, message: 'Working.' }),
        isAlive: () => task.isAlive,
      };
    },
    load: () => tasks.length,
    close: async () => {},
  };
  return { pool, errands: tasks };
}

export interface Payload {
  /** Second half of the job id. */
  readonly of: string;
  readonly value: number;
}

/** Members of job kinds that do not check their stored payloads. */
export const plainKind = { key: ({ of }: { readonly of: string }) => of, decode: (stored: unknown) => stored as never };

/** Job kind with one task. The result is a small value, and the effect is a document. */
export const backtest: JobKind<Payload> = {
  kind: 'backtest',
  ...plainKind,
  async run(payload, attempt) {
    const value: unknown = await attempt.compute('backtest', payload as never);
    return {
      result: { value },
      effect: async (tx) => void (await tx.put('run', attempt.jobId.split(':')[1]!, { value })),
    };
  },
};

export const createSubmission = (ident: string, overrides: Partial<Submission<Payload>> = {}): Submission<Payload> => ({
  kind: backtest,
  payload: { of: ident, value: 1 },
  request: { start: null },
  estimatedBytes: 10 * MiB,
  ...overrides,
});

/** Returns submission options with a client's key. */
export const createOwnedSubmission = (owner: string): Partial<Submission<Payload>> => ({
  origin: { owner, requestId: 'request', author: null, note: null, traceId: null, callback: null },
});

export interface World {
  readonly engine: JobSystem;
  readonly store: Store;
  readonly time: TestClock;
  readonly errands: PendingTask[];
  readonly logged: string[];
  /** Fields of log lines, without the message. */
  readonly fields: Record<string, unknown>[];
  home: Home;
}

export const createHome = createTemporaryFolder;

export async function openWorld(
  limits: Partial<NodeLimits & QueueLimits> = {},
  kinds: readonly JobKind<Payload>[] = [],
): Promise<World> {
  return openOn(await createHome(), limits, kinds);
}

export async function openOn(
  path: string,
  limits: Partial<NodeLimits & QueueLimits> = {},
  kinds: readonly JobKind<Payload>[] = [],
): Promise<World> {
  const home = await openHome(path);
  const store = await openStore({ home, onFailure: () => {} });
  const time = createTestClock();
  const { pool, errands } = createTestPool();
  const logMessages: string[] = [];
  const fields: Record<string, unknown>[] = [];
  const note = (logFields: object, message: string): void => {
    logMessages.push(message);
    fields.push({ ...logFields });
  };
  const { clock } = time;
  const log = { info: note, warn: note, error: note };
  const allLimits = { ...LIMITS, ...limits };
  const queue = createLocalQueue({ store: store.documents, clock, limits: allLimits, log });
  const engine = createJobSystem({ queue, artifacts: store.artifacts, pool, clock, limits: allLimits, log });
  for (const kind of [backtest, ...kinds]) engine.register({ [kind.kind]: kind });
  await engine.start();
  const world = { engine, store, time, errands, logged: logMessages, fields, home };
  onTestFinished(() => closeWorld(world));
  return world;
}

/** Closes a world unless it is already closed. Worlds that are still open are closed after the test. */
export async function closeWorld(world: World): Promise<void> {
  if (closedWorlds.has(world)) return;
  closedWorlds.add(world);
  await world.store.close();
  await world.home.close();
}
const closedWorlds = new WeakSet<World>();

/** Resolves when a job has reached a state. */
export function reach(engine: JobSystem, jobId: string, status: string): Promise<void> {
  return new Promise((resolve) => {
    const checkStatus = async (): Promise<void> => {
      if ((await engine.get(jobId))?.status !== status) return;
      unwatch();
      resolve();
    };
    const unwatch = engine.watch(jobId, checkStatus);
    void checkStatus();
  });
}

export const waitForStarts = (world: World, count: number): Promise<void> =>
  new Promise((resolve) => {
    const peek = (): void => void (world.errands.length >= count ? resolve() : setImmediate(peek));
    peek();
  });
