import type { JobStatus } from '#jobs/status.js';
import { afterEach, describe, expect, test } from 'vitest';
import { Refusal } from '#domain/refusal.js';
import type { Clock } from '#jobs/clock.js';
import { TaskStopped, WorkerLost, type ComputePool } from '#jobs/compute-pool.js';
import { createJobEngine } from '#jobs/engine.js';
import type { EndedJob, EngineLimits, JobEngine } from '#jobs/job-engine.js';
import type { Origin } from '#jobs/origin.js';
import type { JobKind, Submission } from '#jobs/job-kind.js';
import { openHome, type Home } from '#store/home/home.js';
import { openStore, type Store } from '#store/open-store.js';
import { temporaryFolders } from '../store/temporary-folder.js';

const newFolder = temporaryFolders();
const MiB = 2 ** 20;
const LIMITS: EngineLimits = {
  attemptsMax: 3,
  queueMax: 4,
  runningMax: { heavy: 2, light: 1 },
  perOwner: { queueMax: 1000, runningMax: 1000 },
  endedMax: 1000,
  memoryBytes: 100 * MiB,
  heartbeatTimeoutMs: 60_000,
  jobMsMax: 3_600_000,
  cancelGraceMs: 2000,
  queryMsMax: 1000,
};

/** Time that moves when the test says so. */
function createTestClock() {
  let nowMs = 0;
  let wallMs = Date.UTC(2026, 10, 20);
  const timers = new Map<number, { readonly at: number; readonly call: () => void }>();
  let count = 0;
  const clock: Clock = {
    now: () => wallMs + nowMs,
    monotonicMs: () => nowMs,
    after(ms, call) {
      const id = count++;
      timers.set(id, { at: nowMs + ms, call });
      return () => timers.delete(id);
    },
  };
  return {
    clock,
    /** Sets the wall clock, as an administrator or a time server does. */
    jump(ms: number): void {
      wallMs += ms;
    },
    /** Lets time pass in steps of a tick, and whatever it wakes run. */
    async pass(ms: number): Promise<void> {
      for (const end = nowMs + ms; nowMs < end;) {
        nowMs += Math.min(1000, end - nowMs);
        for (const [id, { at, call }] of timers) if (at <= nowMs && timers.delete(id)) call();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

interface Errand {
  readonly input: unknown;
  finish(output: unknown): void;
  fail(reason: unknown): void;
  readonly signal: AbortSignal | undefined;
  fraction: number;
  isAlive: boolean;
}

/** A pool whose tasks end when the test says so; a signal stops them at once. */
function createTestPool() {
  const errands: Errand[] = [];
  const pool: ComputePool = {
    run({ input, signal }) {
      let errand!: Errand;
      const output = new Promise<never>((resolve, reject) => {
        errand = {
          input,
          signal,
          fraction: 0,
          isAlive: true,
          finish: (value) => resolve(value as never),
          fail: reject,
        };
        errands.push(errand);
        signal?.addEventListener('abort', () => reject(new TaskStopped('stopped')));
      });
      return {
        output,
        progress: () => ({ fraction: errand.fraction, message: 'Working.' }),
        isAlive: () => errand.isAlive,
      };
    },
    load: () => errands.length,
    close: async () => {},
  };
  return { pool, errands };
}

interface Payload {
  readonly value: number;
}

/** A job of one task whose result is a small value, and whose effect is a document. */
const backtest: JobKind<Payload> = {
  kind: 'backtest',
  async run(payload, attempt) {
    const value: unknown = await attempt.compute('backtest', payload as never);
    return {
      result: { value },
      effect: async (tx) => void (await tx.put('run', attempt.jobId.split(':')[1]!, { value })),
    };
  },
};

const submission = (ident: string, overrides: Partial<Submission<Payload>> = {}): Submission<Payload> => ({
  kind: backtest,
  ident,
  payload: { value: 1 },
  request: { start: null },
  estimatedBytes: 10 * MiB,
  ...overrides,
});

/** Asked for by a key. */
const from = (owner: string): Partial<Submission<Payload>> => ({
  origin: { owner, requestId: 'request', traceId: null },
});

interface World {
  readonly engine: JobEngine;
  readonly store: Store;
  readonly time: ReturnType<typeof createTestClock>;
  readonly errands: Errand[];
  readonly logged: string[];
  /** What the lines of the log carry besides their message. */
  readonly fields: Record<string, unknown>[];
  readonly ended: EndedJob[];
  home: Home;
}
const worlds: World[] = [];

async function openWorld(limits: Partial<EngineLimits> = {}, kinds: readonly JobKind<never>[] = []): Promise<World> {
  return openOn(await newFolder(), limits, kinds);
}

async function openOn(
  path: string,
  limits: Partial<EngineLimits> = {},
  kinds: readonly JobKind<never>[] = [],
): Promise<World> {
  const home = await openHome(path);
  const store = await openStore({ home, onFailure: () => {} });
  const time = createTestClock();
  const { pool, errands } = createTestPool();
  const logged: string[] = [];
  const fields: Record<string, unknown>[] = [];
  const ended: EndedJob[] = [];
  const note = (given: object, message: string): void => {
    logged.push(message);
    fields.push({ ...given });
  };
  const engine = createJobEngine({
    store: store.documents,
    artifacts: store.artifacts,
    pool,
    clock: time.clock,
    limits: { ...LIMITS, ...limits },
    log: { info: note, warn: note, error: note },
    onEnded: (job) => void ended.push(job),
  });
  for (const kind of [backtest, ...kinds]) engine.register({ [kind.kind]: kind });
  await engine.start();
  const world = { engine, store, time, errands, logged, fields, ended, home };
  worlds.push(world);
  return world;
}

async function closeWorld(world: World): Promise<void> {
  worlds.splice(worlds.indexOf(world), 1);
  await world.store.close();
  await world.home.close();
}

afterEach(async () => {
  for (let world = worlds.at(0); world !== undefined; world = worlds.at(0)) await closeWorld(world);
});

/** Resolves when the job is in the state. */
function reach(engine: JobEngine, jobId: string, status: string): Promise<void> {
  return new Promise((resolve) => {
    const look = async (): Promise<void> => {
      if ((await engine.get(jobId))?.status !== status) return;
      unwatch();
      resolve();
    };
    const unwatch = engine.watch(jobId, look);
    void look();
  });
}

const started = (world: World, count: number): Promise<void> =>
  new Promise((resolve) => {
    const peek = (): void => void (world.errands.length >= count ? resolve() : setImmediate(peek));
    peek();
  });

describe('submitting', () => {
  test('a job that is answered is on disk, whole', async () => {
    const { engine, store } = await openWorld();
    const status = await engine.submit(submission('GOLD4'));
    expect(status).toMatchObject({
      job_id: 'backtest:GOLD4',
      kind: 'backtest',
      status: 'pending',
      progress: 0,
      attempt: 1,
      request: { start: null },
      result: null,
      error: null,
    });
    expect(status.created_at).toBe('2026-11-20T00:00:00.000000+00:00');
    expect(await store.documents.get('job', 'backtest:GOLD4')).toMatchObject({ body: { job_id: 'backtest:GOLD4' } });
    expect(await store.documents.get('job-input', 'backtest:GOLD4')).toMatchObject({ body: { payload: { value: 1 } } });
  });

  test('twenty equal submissions at once are one job', async () => {
    const world = await openWorld();
    const answers = await Promise.all(Array.from({ length: 20 }, () => world.engine.submit(submission('a'))));
    expect(new Set(answers.map(({ input_hash: hash }) => hash)).size).toBe(1);
    await started(world, 1);
    expect(await world.engine.submit(submission('a'))).toMatchObject({ status: 'running' });
    world.errands[0]!.finish(42);
    await reach(world.engine, 'backtest:a', 'succeeded');
    expect(world.errands).toHaveLength(1);
  });

  test('another request under a live id is refused, and replaces the job once it has ended', async () => {
    const world = await openWorld();
    await world.engine.submit(submission('a'));
    const other = submission('a', { payload: { value: 2 } });
    await expect(world.engine.submit(other)).rejects.toMatchObject({ code: 'JOB_RUNNING' });
    await world.engine.cancel('backtest:a');
    expect(await world.engine.submit(other)).toMatchObject({ status: 'pending' });
    await started(world, 2);
    expect(world.errands[1]!.input).toEqual({ value: 2 });
  });

  test('more than may wait are refused as overload', async () => {
    const { engine } = await openWorld();
    const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => engine.submit(submission(`j${i}`))));
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(refused.length).toBe(16);
    expect(refused[0]!.reason).toMatchObject({ code: 'OVERLOADED', detail: { queued: 4, limit: 4 } });
  });

  test('more than may wait of one key are refused as too many of that key; others are let in', async () => {
    const { engine } = await openWorld({ queueMax: 100, perOwner: { queueMax: 3, runningMax: 1 } });
    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) => engine.submit(submission(`j${i}`, from('one')))),
    );
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(refused).toHaveLength(7);
    expect(refused[0]!.reason).toMatchObject({ code: 'RATE_LIMITED', detail: { queued: 3, limit: 3 } });
    expect(await engine.submit(submission('of-another', from('two')))).toMatchObject({ status: 'pending' });
    for (let i = 0; i < 5; i++)
      expect(await engine.submit(submission(`of-nobody-${i}`))).toMatchObject({ status: 'pending' });
  });

  test('one key does not hold every place of the heavy lane', async () => {
    const world = await openWorld({
      queueMax: 100,
      runningMax: { heavy: 3, light: 1 },
      perOwner: { queueMax: 10, runningMax: 2 },
    });
    for (const ident of ['a', 'b', 'c', 'd']) await world.engine.submit(submission(ident, from('one')));
    await started(world, 2);
    expect(world.engine.counts()).toEqual({ pending: 2, running: 2 });
    await world.engine.submit(submission('other', from('two')));
    await reach(world.engine, 'backtest:other', 'running');
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:c', 'running');
    expect(await world.engine.get('backtest:d')).toMatchObject({ status: 'pending' });
  });

  test('ended jobs beyond those that are remembered are forgotten, oldest first, with their results; waiting ones never', async () => {
    const world = await openWorld({ queueMax: 100, endedMax: 3 });
    await world.engine.submit(submission('kept-waiting', { estimatedBytes: 100 * MiB }));
    await started(world, 1);
    for (let i = 0; i < 8; i++) {
      await world.engine.submit(submission(`j${i}`));
      await world.engine.cancel(`backtest:j${i}`);
    }
    await world.engine.submit(submission('last'));
    const ids = (await world.engine.list({ limit: 100 })).map(({ job_id: id }) => id);
    expect(ids).toEqual(['backtest:last', 'backtest:j7', 'backtest:j6', 'backtest:j5', 'backtest:kept-waiting']);
    expect((await world.store.documents.ids('job')).toSorted()).toEqual(ids.toSorted());
    expect(await world.engine.get('backtest:j0')).toBeUndefined();
  });

  test('a job that is submitted again while its last run is forgotten is there', async () => {
    const world = await openWorld({ queueMax: 100, endedMax: 1 });
    for (const ident of ['a', 'b']) {
      await world.engine.submit(submission(ident));
      await world.engine.cancel(`backtest:${ident}`);
    }
    // All three find the run of a to be the oldest that is too many.
    await Promise.all(['x', 'a', 'y'].map((ident) => world.engine.submit(submission(ident))));
    expect(await world.store.documents.ids('job')).toContain('backtest:a');
    expect(await world.engine.get('backtest:a')).toMatchObject({ status: expect.stringMatching(/pending|running/) });
  });

  test('a job that alone needs more than all may is refused with both numbers', async () => {
    const { engine } = await openWorld();
    await expect(engine.submit(submission('a', { estimatedBytes: 101 * MiB }))).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      detail: { estimated_bytes: 101 * MiB, budget_bytes: 100 * MiB },
    });
    expect(await engine.get('backtest:a')).toBeUndefined();
  });

  test('jobs wait until their memory fits, and a large one is not passed over', async () => {
    const world = await openWorld();
    await world.engine.submit(submission('first', { estimatedBytes: 60 * MiB }));
    await started(world, 1);
    await world.engine.submit(submission('large', { estimatedBytes: 90 * MiB }));
    await world.engine.submit(submission('small', { estimatedBytes: 20 * MiB }));
    expect(world.engine.counts()).toEqual({ pending: 2, running: 1 });
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:large', 'running');
    expect(await world.engine.get('backtest:small')).toMatchObject({ status: 'pending' });
  });

  test('a service that stops takes no job', async () => {
    const { engine } = await openWorld();
    engine.drain();
    await expect(engine.submit(submission('a'))).rejects.toMatchObject({ code: 'DRAINING' });
  });
});

describe('the end of a job', () => {
  test('is one with its effect', async () => {
    const world = await openWorld();
    await world.engine.submit(submission('a'));
    await started(world, 1);
    world.errands[0]!.fraction = 0.5;
    expect(await world.engine.get('backtest:a')).toMatchObject({
      status: 'running',
      progress: 0.5,
      message: 'Working.',
      attempt: 1,
    });
    world.errands[0]!.finish(42);
    await reach(world.engine, 'backtest:a', 'succeeded');
    expect(await world.engine.get('backtest:a')).toMatchObject({ progress: 1, result: 42, error: null });
    expect(await world.store.documents.get('run', 'a')).toMatchObject({ body: { value: 42 } });
    expect(await world.store.documents.get('job-input', 'backtest:a')).toBeUndefined();
  });

  test('publishes what its effect reports once it is on disk and before anybody sees it', async () => {
    let looks: Promise<readonly [unknown, JobStatus | undefined]> | undefined;
    const served: JobKind<Payload> = {
      ...backtest,
      async run(payload, attempt) {
        await attempt.compute('backtest', payload as never);
        return {
          result: { value: 1 },
          async effect(tx) {
            await tx.put('store', 's', { active: true });
            tx.publish({ type: 'run-stored', run_id: 'a' });
          },
        };
      },
    };
    const world = await openWorld({}, [served]);
    world.store.documents.subscribe('run-stored', () => {
      looks = Promise.all([world.store.documents.get('store', 's'), world.engine.get('backtest:a')]);
    });
    await world.engine.submit(submission('a', { kind: served }));
    await started(world, 1);
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:a', 'succeeded');
    const [written, status] = (await looks)!;
    expect([written !== undefined, status?.status]).toEqual([true, 'running']);
  });

  test.each([
    [
      'a refusal of the work',
      new Refusal('MISSING_PRICE', 'No price.', { identifier: 'ABC' }),
      { code: 'MISSING_PRICE', detail: { identifier: 'ABC' } },
    ],
    ['a full heap', new Refusal('WORKER_OUT_OF_MEMORY', 'Full.'), { code: 'WORKER_OUT_OF_MEMORY' }],
    [
      'a defect',
      new TypeError('x is undefined'),
      { code: 'INTERNAL', message: expect.stringContaining('backtest:a, attempt 1') },
    ],
  ])('%s fails it with its code and leaves the last run', async (_, reason, error) => {
    const world = await openWorld();
    await world.store.documents.transaction((tx) => tx.put('run', 'a', { value: 'of before' }));
    await world.engine.submit(submission('a'));
    await started(world, 1);
    world.errands[0]!.fail(reason);
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({ error, result: null });
    expect(await world.store.documents.get('run', 'a')).toMatchObject({ body: { value: 'of before' } });
  });

  test('an effect that refuses fails the job and writes nothing', async () => {
    const picky: JobKind<Payload> = {
      ...backtest,
      async run(payload, attempt) {
        await attempt.compute('backtest', payload as never);
        return {
          result: { value: 1 },
          async effect(tx) {
            await tx.put('run', 'a', {});
            throw new Refusal('INDEX_DELETED', 'The index was deleted while the job ran.');
          },
        };
      },
    };
    const world = await openWorld({}, [picky]);
    await world.engine.submit(submission('a', { kind: picky }));
    await started(world, 1);
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({ error: { code: 'INDEX_DELETED' } });
    expect(await world.store.documents.get('run', 'a')).toBeUndefined();
  });

  test('comes after three lost workers at the latest', async () => {
    const world = await openWorld();
    await world.engine.submit(submission('a'));
    for (let attempt = 1; attempt <= 3; attempt++) {
      await started(world, attempt);
      world.errands[attempt - 1]!.fail(new WorkerLost('worker exited with code: 3'));
    }
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({
      attempt: 3,
      error: { code: 'WORKER_CRASHED', detail: { attempts: 3, cause: 'worker exited with code: 3' } },
    });
    expect(world.errands).toHaveLength(3);
  });

  test('comes by the clock when the work does not end', async () => {
    const world = await openWorld({ jobMsMax: 10_000 });
    await world.engine.submit(submission('a'));
    await started(world, 1);
    await world.time.pass(12_000);
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({ error: { code: 'JOB_TIMEOUT' } });
    await world.time.pass(1000);
    expect(world.errands[0]!.signal!.aborted).toBe(true);
  });

  test('a job whose worker is silent for too long is tried again; one that is alive keeps its heartbeat', async () => {
    const world = await openWorld();
    await world.engine.submit(submission('silent'));
    await world.engine.submit(submission('alive'));
    await started(world, 2);
    world.errands[0]!.isAlive = false;
    await world.time.pass(70_000);
    await started(world, 3);
    expect(await world.engine.get('backtest:silent')).toMatchObject({ status: 'running', attempt: 2 });
    expect(await world.engine.get('backtest:alive')).toMatchObject({
      status: 'running',
      attempt: 1,
      heartbeat_at: '2026-11-20T00:01:10.000000+00:00',
    });
  });
});

describe('a wall clock that is set', () => {
  test.each([3_600_000, -3_600_000, 86_400_000 * 366])('by %d ms loses, ends or doubles no job', async (jumpMs) => {
    const world = await openWorld();
    await world.engine.submit(submission('a'));
    await started(world, 1);
    world.time.jump(jumpMs);
    await world.time.pass(120_000);
    expect(await world.engine.get('backtest:a')).toMatchObject({ status: 'running', attempt: 1 });
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:a', 'succeeded');
    expect(world.errands).toHaveLength(1);
  });
});

describe('the origin of a job', () => {
  const origin: Origin = { owner: 'key', requestId: 'r-1', traceId: 'a'.repeat(32) };

  test('is in its status and in every line of the log about it, whatever becomes of it', async () => {
    const world = await openWorld();
    await world.engine.submit(submission('a', { origin }));
    await started(world, 1);
    world.errands[0]!.fail(new Error('a defect'));
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({ request_id: 'r-1', trace_id: 'a'.repeat(32) });
    const about = world.fields.filter(({ job_id: jobId }) => jobId === 'backtest:a');
    expect(about).toHaveLength(4); // accepted, running, the defect, failed
    for (const line of about) expect(line).toMatchObject({ request_id: 'r-1', trace_id: 'a'.repeat(32) });
  });

  test('outlives the process', async () => {
    const path = await newFolder();
    const before = await openOn(path);
    await before.engine.submit(submission('a', { origin }));
    await started(before, 1);
    await closeWorld(before);
    const after = await openOn(path);
    await started(after, 1);
    after.errands[0]!.finish(1);
    await reach(after.engine, 'backtest:a', 'succeeded');
    expect(await after.engine.get('backtest:a')).toMatchObject({
      attempt: 2,
      request_id: 'r-1',
      trace_id: 'a'.repeat(32),
    });
    expect(after.fields.at(-1)).toMatchObject({ job_id: 'backtest:a', status: 'succeeded', request_id: 'r-1' });
  });

  test('of a job that nobody asked for, and of one stored before origins were kept, is nobody', async () => {
    const path = await newFolder();
    const before = await openOn(path);
    await before.engine.submit(submission('a'));
    await started(before, 1);
    expect(await before.engine.get('backtest:a')).toMatchObject({ request_id: null, trace_id: null });
    expect(before.fields.at(-1)).not.toHaveProperty('request_id');
    await before.store.documents.transaction(async (tx) => {
      const {
        request_id: _request,
        trace_id: _trace,
        ...earlier
      } = ((await tx.get('job', 'backtest:a')) as { body: Record<string, unknown> }).body;
      await tx.put('job', 'backtest:a', earlier);
    });
    await closeWorld(before);
    const after = await openOn(path);
    expect(await after.engine.get('backtest:a')).toMatchObject({ request_id: null, trace_id: null });
  });
});

describe('what is told of an ended job', () => {
  test('is its id and kind, its outcome, and the times of its last attempt', async () => {
    const world = await openWorld({ runningMax: { heavy: 1, light: 1 } });
    await world.engine.submit(submission('a'));
    await world.engine.submit(submission('never'));
    await started(world, 1);
    await world.time.pass(5000);
    await world.engine.cancel('backtest:never');
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:a', 'succeeded');
    expect(world.ended).toEqual([
      { jobId: 'backtest:never', kind: 'backtest', outcome: 'cancelled', seconds: null, waitSeconds: null },
      { jobId: 'backtest:a', kind: 'backtest', outcome: 'succeeded', seconds: 5, waitSeconds: 0 },
    ]);
  });
});

describe('cancelling', () => {
  test('a waiting job is over at once, and never starts', async () => {
    const world = await openWorld({ runningMax: { heavy: 1, light: 1 } });
    await world.engine.submit(submission('first'));
    await world.engine.submit(submission('second'));
    expect(await world.engine.cancel('backtest:second')).toMatchObject({
      status: 'cancelled',
      error: null,
      result: null,
    });
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:first', 'succeeded');
    await world.time.pass(3000);
    expect(world.errands).toHaveLength(1);
  });

  test('a running job is over in the answer, its work is stopped, and what it says later is not heard', async () => {
    const world = await openWorld();
    await world.engine.submit(submission('a'));
    await started(world, 1);
    const [errand] = world.errands;
    expect(await world.engine.cancel('backtest:a')).toMatchObject({ status: 'cancelled' });
    expect(errand!.signal!.aborted).toBe(true);
    errand!.finish(42);
    await world.time.pass(3000);
    expect(await world.engine.get('backtest:a')).toMatchObject({ status: 'cancelled', result: null });
    expect(await world.store.documents.get('run', 'a')).toBeUndefined();
  });

  test('an ended job is answered unchanged', async () => {
    const world = await openWorld();
    await world.engine.submit(submission('a'));
    await started(world, 1);
    world.errands[0]!.finish(42);
    await reach(world.engine, 'backtest:a', 'succeeded');
    const before = await world.engine.get('backtest:a');
    expect(await world.engine.cancel('backtest:a')).toEqual(before);
  });

  test('an unknown job is told so', async () => {
    const { engine } = await openWorld();
    await expect(engine.cancel('backtest:none')).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
  });
});

describe('a restart', () => {
  test('queues waiting jobs in their order and runs what ran again, as the next attempt', async () => {
    const path = await newFolder();
    const before = await openOn(path, { runningMax: { heavy: 1, light: 1 } });
    for (const ident of ['running', 'b', 'c']) await before.engine.submit(submission(ident));
    await started(before, 1);
    await closeWorld(before); // as if the process had ended here: nothing was given back
    const after = await openOn(path, { runningMax: { heavy: 1, light: 1 } });
    expect((await after.engine.list({ limit: 10 })).map(({ job_id: jobId, attempt }) => `${jobId} ${attempt}`)).toEqual(
      ['backtest:c 1', 'backtest:b 1', 'backtest:running 2'],
    );
    for (let i = 0; i < 3; i++) {
      await started(after, i + 1);
      after.errands[i]!.finish(i);
    }
    await reach(after.engine, 'backtest:c', 'succeeded');
    expect(await after.engine.get('backtest:running')).toMatchObject({ status: 'succeeded', attempt: 2, result: 0 });
  });

  test('after a stop continues what was given back, and results are still there', async () => {
    const path = await newFolder();
    const before = await openOn(path);
    await before.engine.submit(submission('done'));
    await started(before, 1);
    before.errands[0]!.finish(42);
    await reach(before.engine, 'backtest:done', 'succeeded');
    await before.engine.submit(submission('open'));
    await started(before, 2);
    await before.engine.stop();
    expect(before.errands[1]!.signal!.aborted).toBe(true);
    expect(await before.store.documents.get('job', 'backtest:open')).toMatchObject({
      body: { status: 'pending', attempt: 2, crashes: 0 },
    });
    await closeWorld(before);
    const after = await openOn(path);
    expect(await after.engine.get('backtest:done')).toMatchObject({ status: 'succeeded', result: 42 });
    await started(after, 1);
    after.errands[0]!.finish(7);
    await reach(after.engine, 'backtest:open', 'succeeded');
  });

  test('stops a job that took the process down three times', async () => {
    const path = await newFolder();
    let world = await openOn(path);
    await world.engine.submit(submission('poison'));
    for (let crash = 1; crash <= 3; crash++) {
      await started(world, 1);
      await closeWorld(world);
      world = await openOn(path);
    }
    expect(await world.engine.get('backtest:poison')).toMatchObject({
      status: 'failed',
      error: { code: 'WORKER_CRASHED', detail: { attempts: 3 } },
    });
    expect(world.errands).toHaveLength(0);
  });

  test('fails jobs of a kind that this build does not run', async () => {
    const path = await newFolder();
    const sweep: JobKind<Payload> = { ...backtest, kind: 'sweep' };
    const before = await openOn(path, { runningMax: { heavy: 0, light: 0 } }, [sweep]);
    await before.engine.submit(submission('a', { kind: sweep }));
    await closeWorld(before);
    const after = await openOn(path);
    await reach(after.engine, 'sweep:a', 'failed');
    expect(await after.engine.get('sweep:a')).toMatchObject({ error: { code: 'NOT_SUPPORTED' } });
  });
});

describe('progress of a job of several tasks', () => {
  test('is the sum of their shares and of what the work reports itself', async () => {
    const parts: JobKind<Payload> = {
      ...backtest,
      async run(payload, attempt) {
        attempt.report(0.2, 'Reading.');
        await Promise.all([0.5, 0.3].map((share) => attempt.compute('backtest', payload as never, share)));
        return { result: { value: null } };
      },
    };
    const world = await openWorld({}, [parts]);
    await world.engine.submit(submission('a', { kind: parts }));
    await started(world, 2);
    expect((await world.engine.get('backtest:a'))!.progress).toBeCloseTo(0.2, 12);
    world.errands[0]!.fraction = 1;
    world.errands[1]!.fraction = 0.5;
    expect((await world.engine.get('backtest:a'))!.progress).toBeCloseTo(0.2 + 0.5 + 0.15, 12);
    world.errands[1]!.fraction = 0.1;
    expect((await world.engine.get('backtest:a'))!.progress).toBeCloseTo(0.85, 12);
  });

  test('one that fails while another still runs ends the job and nothing else', async () => {
    const parts: JobKind<Payload> = {
      ...backtest,
      async run(payload, attempt) {
        await Promise.all([1, 2].map(() => attempt.compute('backtest', payload as never)));
        return { result: { value: null } };
      },
    };
    const world = await openWorld({}, [parts]);
    await world.engine.submit(submission('a', { kind: parts }));
    await started(world, 2);
    world.errands[0]!.fail(new Refusal('MISSING_PRICE', 'No price.'));
    await reach(world.engine, 'backtest:a', 'failed');
    world.errands[1]!.fail(new WorkerLost('late'));
    await world.time.pass(1000);
    expect(await world.engine.get('backtest:a')).toMatchObject({ error: { code: 'MISSING_PRICE' } });
  });
});

describe('listing', () => {
  test('shows the newest first, by kind and status, up to a limit and before a job', async () => {
    const render: JobKind<Payload> = { ...backtest, kind: 'render' };
    const world = await openWorld({ queueMax: 100, runningMax: { heavy: 0, light: 0 } }, [render]);
    const { engine } = world;
    for (const ident of ['a', 'b', 'c']) await engine.submit(submission(ident));
    await engine.submit(submission('r', { kind: render }));
    await engine.cancel('backtest:b');
    const ids = async (query: Partial<Parameters<JobEngine['list']>[0]>): Promise<string[]> =>
      (await engine.list({ limit: 100, ...query })).map(({ job_id: jobId }) => jobId);
    expect(await ids({})).toEqual(['render:r', 'backtest:c', 'backtest:b', 'backtest:a']);
    expect(await ids({ kind: 'backtest' })).toEqual(['backtest:c', 'backtest:b', 'backtest:a']);
    expect(await ids({ statuses: ['cancelled'] })).toEqual(['backtest:b']);
    expect(await ids({ statuses: ['cancelled', 'pending'], limit: 2 })).toEqual(['render:r', 'backtest:c']);
    expect(await ids({ before: 'backtest:b' })).toEqual(['backtest:a']);
    expect(await ids({ before: 'backtest:unknown' })).toEqual([]);
    await engine.submit(submission('b'));
    expect(await ids({ limit: 1 })).toEqual(['backtest:b']);
  });
});

describe('interactive work', () => {
  test('gives its output and keeps nothing', async () => {
    const world = await openWorld();
    const answer = world.engine.query('backtest', { value: 3 } as never);
    await started(world, 1);
    world.errands[0]!.finish('out');
    expect(await answer).toBe('out');
    expect(await world.store.documents.ids('job')).toEqual([]);
  });

  test('is stopped when the client goes or its time is over', async () => {
    const world = await openWorld();
    const leaving = new AbortController();
    const left = world.engine.query('backtest', {} as never, leaving.signal);
    const slow = world.engine.query('backtest', {} as never);
    await started(world, 2);
    leaving.abort();
    await expect(left).rejects.toMatchObject({ name: 'TaskStopped' });
    const told = expect(slow).rejects.toMatchObject({
      code: 'OVERLOADED',
      message: 'The computation took longer than 1 seconds.',
    });
    await world.time.pass(1000);
    await told;
  });
});
