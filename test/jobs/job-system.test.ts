import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { WorkerLost } from '#jobs/port/compute-pool.js';
import type { JobKind } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { openArtifactWriter } from '#store/artifact-writer.js';
import {
  MiB,
  backtest,
  createOwnedSubmission,
  openWorld,
  reach,
  waitForStarts,
  createSubmission,
  type Payload,
} from './job-world.js';
import { waitFor } from '../waiting.js';

describe('submitting', () => {
  test('a job is on disk completely when it is acknowledged', async () => {
    const { engine, store } = await openWorld();
    const status = await engine.submit(createSubmission('GOLD4'));
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

  test('one key cannot occupy every slot of the heavy lane', async () => {
    const world = await openWorld({
      queueMax: 100,
      runningMax: { heavy: 3, light: 1 },
      ownerRunningMax: 2,
    });
    for (const ident of ['a', 'b', 'c', 'd'])
      await world.engine.submit(createSubmission(ident, createOwnedSubmission('one')));
    await waitForStarts(world, 2);
    expect(await world.engine.counts()).toEqual({ pending: 2, running: 2 });
    await world.engine.submit(createSubmission('other', createOwnedSubmission('two')));
    await reach(world.engine, 'backtest:other', 'running');
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:c', 'running');
    expect(await world.engine.get('backtest:d')).toMatchObject({ status: 'pending' });
  });

  test('jobs wait until their memory fits, and a large one is not overtaken', async () => {
    const world = await openWorld();
    await world.engine.submit(createSubmission('first', { estimatedBytes: 60 * MiB }));
    await waitForStarts(world, 1);
    await world.engine.submit(createSubmission('large', { estimatedBytes: 90 * MiB }));
    await world.engine.submit(createSubmission('small', { estimatedBytes: 20 * MiB }));
    expect(await world.engine.counts()).toEqual({ pending: 2, running: 1 });
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:large', 'running');
    expect(await world.engine.get('backtest:small')).toMatchObject({ status: 'pending' });
  });

  test('a service that is stopping accepts no job', async () => {
    const { engine } = await openWorld();
    engine.drain();
    await expect(engine.submit(createSubmission('a'))).rejects.toMatchObject({ code: 'DRAINING' });
  });
});

describe('the end of a job', () => {
  test('is atomic with its effect', async () => {
    const world = await openWorld();
    await world.engine.submit(createSubmission('a'));
    await waitForStarts(world, 1);
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

  test('publishes the events of its effect after the flush and before the status is visible', async () => {
    let looks: Promise<readonly [unknown, JobStatus | undefined]> | undefined;
    const servedKind: JobKind<Payload> = {
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
    const world = await openWorld({}, [servedKind]);
    world.store.documents.subscribe('run-stored', () => {
      looks = Promise.all([world.store.documents.get('store', 's'), world.engine.get('backtest:a')]);
    });
    await world.engine.submit(createSubmission('a', { kind: servedKind }));
    await waitForStarts(world, 1);
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:a', 'succeeded');
    const [writtenDocument, status] = (await looks)!;
    expect([writtenDocument !== undefined, status?.status]).toEqual([true, 'running']);
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
    await world.engine.submit(createSubmission('a'));
    await waitForStarts(world, 1);
    world.errands[0]!.fail(reason);
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({ error, result: null });
    expect(await world.store.documents.get('run', 'a')).toMatchObject({ body: { value: 'of before' } });
  });

  test('an effect that is refused fails the job and writes nothing', async () => {
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
    await world.engine.submit(createSubmission('a', { kind: picky }));
    await waitForStarts(world, 1);
    world.errands[0]!.finish(1);
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({ error: { code: 'INDEX_DELETED' } });
    expect(await world.store.documents.get('run', 'a')).toBeUndefined();
  });

  test('is immediate if the stored payload is invalid for the kind', async () => {
    const strictKind: JobKind<Payload> = { ...backtest, decode: () => undefined };
    const world = await openWorld({}, [strictKind]);
    await world.engine.submit(createSubmission('a', { kind: strictKind }));
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({ attempt: 1, error: { code: 'DOCUMENT_UNREADABLE' } });
    expect(world.errands).toEqual([]);
  });

  test('comes after at most three lost workers', async () => {
    const world = await openWorld();
    await world.engine.submit(createSubmission('a'));
    for (let attempt = 1; attempt <= 3; attempt++) {
      await waitForStarts(world, attempt);
      world.errands[attempt - 1]!.fail(new WorkerLost('worker exited with code: 3'));
    }
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({
      attempt: 3,
      error: { code: 'WORKER_CRASHED', detail: { attempts: 3, cause: 'worker exited with code: 3' } },
    });
    expect(world.errands).toHaveLength(3);
  });

  test('comes at the time limit if the work does not end', async () => {
    const world = await openWorld({ jobMsMax: 10_000 });
    await world.engine.submit(createSubmission('a'));
    await waitForStarts(world, 1);
    await world.time.pass(12_000);
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({ error: { code: 'JOB_TIMEOUT' } });
    await world.time.pass(1000);
    expect(world.errands[0]!.signal!.aborted).toBe(true);
  });

  test('a job whose worker is silent for too long is retried; a worker that is alive keeps its heartbeat', async () => {
    const world = await openWorld();
    await world.engine.submit(createSubmission('silent'));
    await world.engine.submit(createSubmission('alive'));
    await waitForStarts(world, 2);
    world.errands[0]!.isAlive = false;
    await world.time.pass(70_000);
    await waitForStarts(world, 3);
    expect(await world.engine.get('backtest:silent')).toMatchObject({ status: 'running', attempt: 2 });
    expect(await world.engine.get('backtest:alive')).toMatchObject({
      status: 'running',
      attempt: 1,
      heartbeat_at: '2026-11-20T00:01:10.000000+00:00',
    });
  });
});

describe('cancelling', () => {
  test('a cancelled job has ended when the response is sent, its work stops, and its later messages are ignored', async () => {
    const world = await openWorld();
    await world.engine.submit(createSubmission('a'));
    await waitForStarts(world, 1);
    const [errand] = world.errands;
    expect(await world.engine.cancel('backtest:a')).toMatchObject({ status: 'cancelled' });
    expect(errand!.signal!.aborted).toBe(true);
    errand!.finish(42);
    await world.time.pass(3000);
    expect(await world.engine.get('backtest:a')).toMatchObject({ status: 'cancelled', result: null });
    expect(await world.store.documents.get('run', 'a')).toBeUndefined();
  });
});

describe('files that a task writes', () => {
  /** Job kind that writes two files and drops one of them. Its payload determines how it ends. */
  const writingKind: JobKind<Payload> = {
    ...backtest,
    async run({ value }, attempt) {
      const names = attempt.outputs(['first', 'second', 'none']);
      const destination = await attempt.compute('backtest', {} as never);
      const contents = [names.first, names.second].map((name) => ({ name, bytes: new Uint8Array([value]) }));
      const [first] = await openArtifactWriter(destination as never).write(contents);
      await attempt.drop([names.second]);
      if (value === 2) throw new Refusal('NUMERIC_FAILURE', 'It failed.');
      return { result: { artifact: first! } };
    },
  };

  test.each([
    ['succeeded', 1, 1],
    ['failed', 2, 0],
  ])('of a job that %s are the files that it owns, and no others', async (status, value, count) => {
    const world = await openWorld({}, [writingKind]);
    await world.engine.submit(createSubmission('a', { kind: writingKind, payload: { of: 'a', value } }));
    await waitForStarts(world, 1);
    world.errands[0]!.finish(world.store.artifacts.destination);
    await reach(world.engine, 'backtest:a', status);
    await waitFor(async () => expect(await readdir(world.home.artifacts)).toHaveLength(count));
    const ownedJob = await world.store.documents.get('job', 'backtest:a');
    for (const name of await readdir(world.home.artifacts)) expect(JSON.stringify(ownedJob)).toContain(name);
  });
});

describe('progress of a job of several tasks', () => {
  test('is the sum of their shares and of the progress that the work reports itself', async () => {
    const parts: JobKind<Payload> = {
      ...backtest,
      async run(payload, attempt) {
        attempt.report(0.2, 'Reading.');
        await Promise.all([0.5, 0.3].map((share) => attempt.compute('backtest', payload as never, share)));
        return { result: { value: null } };
      },
    };
    const world = await openWorld({}, [parts]);
    await world.engine.submit(createSubmission('a', { kind: parts }));
    await waitForStarts(world, 2);
    expect((await world.engine.get('backtest:a'))!.progress).toBeCloseTo(0.2, 12);
    world.errands[0]!.fraction = 1;
    world.errands[1]!.fraction = 0.5;
    expect((await world.engine.get('backtest:a'))!.progress).toBeCloseTo(0.2 + 0.5 + 0.15, 12);
    world.errands[1]!.fraction = 0.1;
    expect((await world.engine.get('backtest:a'))!.progress).toBeCloseTo(0.85, 12);
  });

  test('a failed task ends the job while another still runs, and nothing else', async () => {
    const parts: JobKind<Payload> = {
      ...backtest,
      async run(payload, attempt) {
        await Promise.all([1, 2].map(() => attempt.compute('backtest', payload as never)));
        return { result: { value: null } };
      },
    };
    const world = await openWorld({}, [parts]);
    await world.engine.submit(createSubmission('a', { kind: parts }));
    await waitForStarts(world, 2);
    world.errands[0]!.fail(new Refusal('MISSING_PRICE', 'No price.'));
    await reach(world.engine, 'backtest:a', 'failed');
    world.errands[1]!.fail(new WorkerLost('late'));
    await world.time.pass(1000);
    expect(await world.engine.get('backtest:a')).toMatchObject({ error: { code: 'MISSING_PRICE' } });
  });
});

describe('interactive work', () => {
  test('returns its output and stores nothing', async () => {
    const world = await openWorld();
    const answer = world.engine.query('backtest', { value: 3 } as never);
    await waitForStarts(world, 1);
    world.errands[0]!.finish('out');
    expect(await answer).toBe('out');
    expect(await world.store.documents.ids('job')).toEqual([]);
  });

  test('is stopped when the client disconnects or its time limit passes', async () => {
    const world = await openWorld();
    const leavingController = new AbortController();
    const waiting = world.engine.query('backtest', {} as never, leavingController.signal);
    const slowQuery = world.engine.query('backtest', {} as never);
    await waitForStarts(world, 2);
    leavingController.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'TaskStopped' });
    const rejection = expect(slowQuery).rejects.toMatchObject({
      code: 'QUERY_LIMIT',
      message: expect.stringMatching(/^The computation took longer than 1 seconds, .* or run it as a job/u) as string,
    });
    await world.time.pass(1000);
    await rejection;
  });
});
