import { describe, expect, test } from 'vitest';
import type { JobKind } from '#jobs/port/job-kind.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import {
  backtest,
  closeWorld,
  createHome,
  openOn,
  openWorld,
  reach,
  waitForStarts,
  createSubmission,
  type Payload,
} from './job-world.js';

describe('the origin of a job', () => {
  const origin: JobOrigin = {
    owner: 'key',
    requestId: 'r-1',
    traceId: 'a'.repeat(32),
    author: null,
    note: null,
    callback: null,
  };

  test('is in its status and in each of its log lines, whatever its outcome', async () => {
    const world = await openWorld();
    await world.engine.submit(createSubmission('a', { origin }));
    await waitForStarts(world, 1);
    world.errands[0]!.fail(new Error('a defect'));
    await reach(world.engine, 'backtest:a', 'failed');
    expect(await world.engine.get('backtest:a')).toMatchObject({ request_id: 'r-1', trace_id: 'a'.repeat(32) });
    const jobFields = world.fields.filter(({ job_id: jobId }) => jobId === 'backtest:a');
    expect(jobFields).toHaveLength(4); // accepted, running, the defect, failed
    for (const line of jobFields) expect(line).toMatchObject({ request_id: 'r-1', trace_id: 'a'.repeat(32) });
  });

  test('is kept after the process ends', async () => {
    const path = await createHome();
    const before = await openOn(path);
    await before.engine.submit(createSubmission('a', { origin }));
    await waitForStarts(before, 1);
    await closeWorld(before);
    const after = await openOn(path);
    await waitForStarts(after, 1);
    after.errands[0]!.finish(1);
    await reach(after.engine, 'backtest:a', 'succeeded');
    expect(await after.engine.get('backtest:a')).toMatchObject({
      attempt: 2,
      request_id: 'r-1',
      trace_id: 'a'.repeat(32),
    });
    expect(after.fields.at(-1)).toMatchObject({ job_id: 'backtest:a', status: 'succeeded', request_id: 'r-1' });
  });

  test('of a job without a client is empty', async () => {
    const path = await createHome();
    const before = await openOn(path);
    await before.engine.submit(createSubmission('a'));
    await waitForStarts(before, 1);
    expect(await before.engine.get('backtest:a')).toMatchObject({ request_id: null, trace_id: null });
    expect(before.fields.at(-1)).not.toHaveProperty('request_id');
    await closeWorld(before);
  });
});

describe('a restart', () => {
  test('after a stop continues the returned jobs, and keeps results', async () => {
    const path = await createHome();
    const before = await openOn(path);
    await before.engine.submit(createSubmission('done'));
    await waitForStarts(before, 1);
    before.errands[0]!.finish(42);
    await reach(before.engine, 'backtest:done', 'succeeded');
    await before.engine.submit(createSubmission('open'));
    await waitForStarts(before, 2);
    await before.engine.stop();
    expect(before.errands[1]!.signal!.aborted).toBe(true);
    expect(await before.store.documents.get('job', 'backtest:open')).toMatchObject({
      body: { status: 'pending', attempt: 2, crashes: 0 },
    });
    await closeWorld(before);
    const after = await openOn(path);
    expect(await after.engine.get('backtest:done')).toMatchObject({ status: 'succeeded', result: 42 });
    await waitForStarts(after, 1);
    after.errands[0]!.finish(7);
    await reach(after.engine, 'backtest:open', 'succeeded');
  });

  test('waits for the end of returned work, which may read documents until then', async () => {
    let read: unknown;
    const last: JobKind<Payload> = {
      ...backtest,
      async run(payload, attempt) {
        await attempt.compute('backtest', payload as never).catch(() => {});
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
        read = await world.store.documents.get('job', 'backtest:a');
        throw attempt.signal.reason;
      },
    };
    const world = await openOn(await createHome(), {}, [last]);
    await world.engine.submit(createSubmission('a', { kind: last }));
    await waitForStarts(world, 1);
    await world.engine.stop();
    await closeWorld(world);
    expect(read).toMatchObject({ body: { status: 'pending' } });
    expect(world.logged.filter((line) => line.includes('could not be written'))).toEqual([]);
  });

  test('fails jobs of a kind that this build does not run', async () => {
    const path = await createHome();
    const sweep: JobKind<Payload> = { ...backtest, kind: 'sweep' };
    const before = await openOn(path, { runningMax: { heavy: 0, light: 0 } }, [sweep]);
    await before.engine.submit(createSubmission('a', { kind: sweep }));
    await closeWorld(before);
    const after = await openOn(path);
    await reach(after.engine, 'sweep:a', 'failed');
    expect(await after.engine.get('sweep:a')).toMatchObject({ error: { code: 'NOT_SUPPORTED' } });
  });
});
