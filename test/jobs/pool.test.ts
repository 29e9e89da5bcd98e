import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHash } from 'node:crypto';
import { onObjectRequest } from '#base/tracing/tracing.js';
import type { Lane, TaskRun, ThreadLoss, ThreadPool } from '#jobs/port/compute-pool.js';
import { createPool, type PoolOptions } from '#jobs/pool.js';
import type { TaskName } from '#jobs/tasks/catalogue.js';

/** Opens a pool with the tasks of the hostile worker. The types of the product do not include them. */
function openHostilePool(
  options: Partial<
    Pick<PoolOptions, 'workers' | 'queueMax' | 'patienceMs' | 'restMs' | 'heapMegabytes' | 'onThreadLost' | 'onRest'>
  > = {},
) {
  const pool: ThreadPool = createPool({
    workers: 2,
    heapMegabytes: 32,
    patienceMs: 20, // milliseconds from the stop request to the end of a thread that ignores it
    entry: new URL('hostile-worker.js', import.meta.url),
    ...options,
  });
  const run = (task: string, input: unknown = null, signal?: AbortSignal, lane: Lane = 'heavy'): TaskRun<unknown> =>
    pool.run({ lane, task: task as TaskName, input: input as never, ...(signal === undefined ? {} : { signal }) });
  return { pool, run };
}

let hostilePool: ReturnType<typeof openHostilePool>;
beforeAll(() => {
  hostilePool = openHostilePool();
});
afterAll(() => hostilePool.pool.close());

/** Waits for a condition that becomes true because of a running task. */
async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1));
}

const hasStarted = (run: TaskRun<unknown>): boolean => run.progress().message !== undefined;

/** True from Node 22 on, where a thread ends if it can send neither its output nor the resulting error. */
const ENDS_UNSENT = Number.parseInt(process.versions.node, 10) >= 22;

describe('a thread that waits', () => {
  const MiB = 2 ** 20;
  const readHeapBytes = async (run: ReturnType<typeof openHostilePool>['run']) =>
    (await run('heap-bytes').output) as number;

  test('releases the memory of its garbage after a pause, and continues', async () => {
    const { pool, run } = openHostilePool({ workers: 1, heapMegabytes: 512, restMs: 20 });
    expect(await run('litter').output).toBeGreaterThan(100 * MiB);
    const thread = await run('thread').output;
    // The interval is longer than the idle time of the worker. So garbage is collected before each poll. Before that,
    // the young generation alone is larger.
    await expect.poll(() => readHeapBytes(run), { interval: 200 }).toBeLessThan(24 * MiB);
    expect(await run('thread').output).toBe(thread);
    await pool.close();
  });

  test('rests at once when asked, unless a thread of its lane has run a task', async () => {
    const { pool, run } = openHostilePool({ workers: 1, restMs: 3_600_000 });
    await pool.restUnused();
    expect(await run('rests').output).toBe(1);
    await pool.restUnused();
    expect(await run('rests').output).toBe(1);
    expect(await run('rests', null, undefined, 'light').output).toBe(2);
    await pool.close();
  });

  test('leaves the resident memory as before, after any number of threads', async () => {
    let onRested = (): void => {};
    const { pool, run } = openHostilePool({ workers: 2, heapMegabytes: 512, restMs: 500, onRest: () => onRested() });
    await Promise.all([run('step', { steps: 1, ms: 20 }).output, run('thread').output]); // starts both threads
    const { rss } = process.memoryUsage;
    const before = rss();
    await Promise.all([run('litter').output, run('litter').output]);
    expect(rss() - before).toBeGreaterThan(128 * MiB);
    await new Promise<void>((resolve) => (onRested = resolve));
    expect(rss() - before).toBeLessThan(64 * MiB);
    await pool.close();
  });

  test('runs the memory release after the last task of all lanes', async () => {
    let rests = 0;
    const { pool, run } = openHostilePool({ workers: 1, restMs: 20, onRest: () => (rests += 1) });
    const long = run('step', { steps: 100, ms: 4 });
    await waitUntil(() => hasStarted(long));
    await run('thread', null, undefined, 'light').output;
    await long.output;
    expect(rests).toBe(0);
    await waitUntil(() => rests > 0);
    await pool.close();
  });

  test('keeps the memory of its garbage while the pauses between tasks are short', async () => {
    const { pool, run } = openHostilePool({ workers: 1, heapMegabytes: 512, restMs: 3_600_000 });
    await run('litter').output;
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(await readHeapBytes(run)).toBeGreaterThan(100 * MiB);
    await pool.close();
  });
});

describe('the output of a task', () => {
  test('is returned, with its bytes moved and hashed in the thread', async () => {
    const output = (await hostilePool.run('bytes', 1000).output) as {
      first: { bytes: Uint8Array; sha256: string };
      nested: { second: { bytes: Uint8Array } };
    };
    expect(output.first.bytes).toEqual(new Uint8Array(1000).fill(7));
    expect(output.first.sha256).toBe(createHash('sha256').update(output.first.bytes).digest('hex'));
    expect(new TextDecoder().decode(output.nested.second.bytes)).toBe('text');
  });

  test('includes its progress and message while it runs', async () => {
    const run = hostilePool.run('step', { steps: 20, ms: 2 });
    let progress = run.progress();
    // A message that is still being written is not visible.
    await waitUntil(() => (progress = run.progress()).fraction > 0.2 && progress.message !== undefined);
    expect(progress.message).toMatch(/^step \d+ of 20$/);
    expect(run.isAlive()).toBe(true);
    expect(await run.output).toBe(20);
  });
});

test('a task runs on the thread that ran it last, if that is idle, though others are idle', async () => {
  const busyRun = hostilePool.run('step', { steps: 20, ms: 2 });
  await waitUntil(() => hasStarted(busyRun));
  const thread = await hostilePool.run('thread').output;
  await busyRun.output;
  const threads = [await hostilePool.run('thread').output, await hostilePool.run('thread').output];
  expect(threads).toEqual([thread, thread]);
});

test('requests to the object store by a task are reported in the process of the pool, each once', async () => {
  const seenMessages: string[] = [];
  const stop = onObjectRequest(({ method, isAnswered }) => void seenMessages.push(`${method} ${isAnswered}`));
  try {
    await hostilePool.run('asksStore', { methods: ['PUT', 'PUT'], fails: false }).output;
    expect(seenMessages).toEqual(['PUT true', 'PUT true']);
    await expect(hostilePool.run('asksStore', { methods: ['GET'], fails: true }).output).rejects.toThrow('No price.');
    await hostilePool.run('asksStore', { methods: [], fails: false }).output;
    expect(seenMessages.slice(2)).toEqual(['GET true']);
  } finally {
    stop();
  }
});

describe('errors of a task do not affect others', () => {
  test.each([
    [
      'a refusal keeps its code and detail',
      'refuse',
      {
        name: 'Refusal',
        code: 'MISSING_PRICE',
        message: 'No price for ABC on 2024-01-03.',
        detail: { identifier: 'ABC' },
      },
    ],
    ['a defect keeps its stack', 'throws', { name: 'Error', stack: expect.stringContaining('TypeError: a defect') }],
    ['a defect after the task let go ends the thread', 'throwsLater', { name: 'WorkerLost', message: 'a late defect' }],
    ['an exit ends the thread', 'exits', { name: 'WorkerLost', message: 'worker exited with code: 3' }],
    ['a full heap ends the thread', 'heap', { name: 'Refusal', code: 'WORKER_OUT_OF_MEMORY' }],
    ['a buffer that does not fit is out of memory too', 'buffers', { name: 'Refusal', code: 'WORKER_OUT_OF_MEMORY' }],
    ['an output that cannot be sent is a defect', 'unclonable', { name: ENDS_UNSENT ? 'WorkerLost' : 'Error' }],
    ['an unknown task is a defect', 'nothing', { name: 'Error' }],
  ])('%s', async (_, task, expected) => {
    const neighbours = Array.from({ length: 10 }, (__, i) => hostilePool.run('echo', i).output);
    await expect(hostilePool.run(task).output).rejects.toMatchObject(expected);
    expect(await Promise.all(neighbours)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await hostilePool.run('echo', 'next').output).toBe('next');
  });
});

describe('a thread that ends before its time', () => {
  test('is reported with its cause, and no other thread', async () => {
    const losses: ThreadLoss[] = [];
    const { pool, run } = openHostilePool({ workers: 1, onThreadLost: (cause) => void losses.push(cause) });
    for (const task of ['echo', 'refuse', 'throws', 'unclonable', 'exits', 'heap'])
      await run(task).output.catch(() => undefined);
    const stopController = new AbortController();
    const endless = run('spin', null, stopController.signal);
    await waitUntil(() => hasStarted(endless));
    stopController.abort();
    await endless.output.catch(() => undefined);
    const unsentStates = ENDS_UNSENT ? ['crashed'] : [];
    expect(losses).toEqual([...unsentStates, 'crashed', 'out_of_memory', 'cancelled']);
    await pool.close();
  });
});

test('a task that yields stops only when another waits for its thread', async () => {
  const { pool, run } = openHostilePool({ workers: 1 });
  const input = { steps: 100_000, ms: 1 } as never;
  const long = pool.run({ lane: 'heavy', task: 'step' as TaskName, input, yields: true });
  await waitUntil(() => long.progress().fraction > 0);
  expect(await run('echo', 'light', undefined, 'light').output).toBe('light');
  expect(pool.load('heavy')).toBe(1);
  const other = run('echo', 'heavy');
  await expect(long.output).rejects.toMatchObject({ name: 'TaskStopped' });
  expect(await other.output).toBe('heavy');
  await pool.close();
});

test('a new task waits for the thread of a task that yields; a task that another thread has run does not', async () => {
  const { pool, run } = openHostilePool({ workers: 2, patienceMs: 60_000 });
  const stopController = new AbortController();
  const input = { steps: 100_000, ms: 1 };
  const occupyingRun = run('step', input, stopController.signal);
  await waitUntil(() => hasStarted(occupyingRun));
  await run('echo', 'on the other thread').output;
  stopController.abort();
  await expect(occupyingRun.output).rejects.toMatchObject({ name: 'TaskStopped' });
  const long = pool.run({ lane: 'heavy', task: 'step' as TaskName, input: input as never, yields: true });
  await waitUntil(() => long.progress().fraction > 0);
  expect(await run('echo', 'heavy').output).toBe('heavy');
  expect(pool.load('heavy')).toBe(1);
  const first = run('thread');
  await expect(long.output).rejects.toMatchObject({ name: 'TaskStopped' });
  expect(await first.output).toEqual(expect.any(Number));
  await pool.close();
});

test('a light task that yields stops for a heavy task, unless that yields too', async () => {
  const { pool, run } = openHostilePool({ workers: 1 });
  const input = { steps: 100_000, ms: 1 } as never;
  const long = pool.run({ lane: 'light', task: 'step' as TaskName, input, yields: true });
  await waitUntil(() => long.progress().fraction > 0);
  const practice = { lane: 'heavy', task: 'echo' as TaskName, yields: true } as const;
  expect(await pool.run({ ...practice, input: 'practice' as never }).output).toBe('practice');
  expect(pool.load('light')).toBe(1);
  const stoppedTask = expect(long.output).rejects.toMatchObject({ name: 'TaskStopped' });
  expect(await run('echo', 'heavy').output).toBe('heavy');
  await stoppedTask;
  await pool.close();
});

describe('a cancelled task', () => {
  test('that reports stops by itself and keeps its thread', async () => {
    const { pool, run } = openHostilePool({ workers: 1, patienceMs: 60_000 });
    const stopController = new AbortController();
    const long = run('step', { steps: 100_000, ms: 1 }, stopController.signal);
    await waitUntil(() => hasStarted(long));
    stopController.abort();
    await expect(long.output).rejects.toMatchObject({
      name: 'TaskStopped',
      message: 'The task stopped when it was asked to.',
    });
    await pool.close();
  });

  test.each(['spin', 'spinWasm', 'regex'])(
    'that never reports is ended together with its thread (%s)',
    async (task) => {
      const { pool, run } = openHostilePool({ workers: 1 });
      await run('echo', 1).output;
      const stopController = new AbortController();
      const endless = run(task, null, stopController.signal);
      if (task !== 'regex') await waitUntil(() => hasStarted(endless));
      stopController.abort();
      await expect(endless.output).rejects.toMatchObject({ name: 'TaskStopped' });
      expect(await run('echo', 'the only thread is back').output).toBe('the only thread is back');
      await pool.close();
    },
  );

  test('that waits is removed from the queue, and the others keep their order', async () => {
    const { pool, run } = openHostilePool({ workers: 1 });
    const stopController = new AbortController();
    const first = run('step', { steps: 20, ms: 2 });
    const second = run('echo', 'second', stopController.signal);
    const third = run('echo', 'third');
    stopController.abort();
    await expect(second.output).rejects.toMatchObject({ message: 'The task was stopped before it started.' });
    expect([await first.output, await third.output]).toEqual([20, 'third']);
    expect(pool.load('heavy')).toBe(0);
    await pool.close();
  });

  test('that was cancelled before it was sent does not run to its end', async () => {
    await expect(hostilePool.run('step', { steps: 100_000, ms: 1 }, AbortSignal.abort()).output).rejects.toMatchObject({
      name: 'TaskStopped',
    });
  });
});

describe('lanes', () => {
  test('light work answers while every heavy thread is permanently busy', async () => {
    const { pool, run } = openHostilePool({ workers: 1 });
    const stopController = new AbortController();
    const endless = run('spin', null, stopController.signal);
    expect(await run('echo', 'light', undefined, 'light').output).toBe('light');
    stopController.abort();
    await expect(endless.output).rejects.toMatchObject({ name: 'TaskStopped' });
    await pool.close();
  });

  test('a full lane refuses with both numbers', async () => {
    const { pool, run } = openHostilePool({ workers: 1, queueMax: { heavy: 2, light: 1 } });
    const stopController = new AbortController();
    const runs = [1, 2, 3].map(() => run('spin', null, stopController.signal));
    await expect(run('echo').output).rejects.toMatchObject({ code: 'OVERLOADED', detail: { waiting: 2, limit: 2 } });
    stopController.abort();
    const ends = await Promise.allSettled(runs.map(({ output }) => output));
    expect(ends.map((end) => end.status === 'rejected' && end.reason.name)).toEqual([
      'TaskStopped',
      'TaskStopped',
      'TaskStopped',
    ]);
    await pool.close();
  });

  test('closing ends whatever runs', async () => {
    const { pool, run } = openHostilePool({ workers: 1 });
    const endless = run('spin').output.catch((thrown: Error) => thrown.name);
    const waitingRun = run('echo').output.catch((thrown: Error) => thrown.name);
    await pool.close();
    expect(await waitingRun).toBe('TaskStopped');
    expect(['WorkerLost', 'TaskStopped']).toContain(await endless);
  });
});

describe('in the light lane', () => {
  const openClients = () => {
    const { pool } = openHostilePool({ queueMax: { heavy: 10, light: 20 } });
    const run = (owner: string | null, task = 'step', ms = 5): TaskRun<unknown> =>
      pool.run({ lane: 'light', task: task as TaskName, input: { steps: 4, ms } as never, owner });
    return { pool, run };
  };

  test('a client runs one task at a time, and another client starts at once', async () => {
    const { pool, run } = openClients();
    const order: string[] = [];
    const record = (name: string, task: TaskRun<unknown>) => task.output.then(() => order.push(name));
    const first = run('a', 'step', 2000);
    const waiting = run('a');
    await waitUntil(() => hasStarted(first));
    await record('b', run('b'));
    expect([hasStarted(first), hasStarted(waiting)]).toEqual([true, false]);
    expect(order).toEqual(['b']);
    waiting.output.catch(() => {});
    first.output.catch(() => {});
    await pool.close();
  });

  test('clients take turns, whatever the number of their tasks', async () => {
    const { pool, run } = openClients();
    const order: string[] = [];
    const record = (name: string) => run(name).output.then(() => order.push(name));
    const names = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all([...Array.from({ length: 4 }, () => record('a')), ...names.slice(1).map(record)]);
    // Four threads run the first tasks of a to d, and the second task of a waits for that of e.
    expect(order.indexOf('e')).toBeLessThan(order.lastIndexOf('a') - 1);
    expect(order.filter((name) => name === 'a')).toHaveLength(4);
    await pool.close();
  });

  test('a client fills at most a quarter of the queue, and others are still accepted', async () => {
    const { pool, run } = openClients();
    const tasks = Array.from({ length: 6 }, () => run('a', 'step', 1000)); // one runs, five wait
    await expect(run('a').output).rejects.toMatchObject({ code: 'RATE_LIMITED', detail: { waiting: 5, limit: 5 } });
    expect(await run('b').output).toBe(4);
    for (const task of tasks) task.output.catch(() => {});
    await pool.close();
  });

  test('bodies of requests are checked during a long task of their client', async () => {
    const { pool, run } = openClients();
    const long = run('a', 'step', 2000);
    await waitUntil(() => hasStarted(long));
    await expect(run('a', 'check-body').output).rejects.toThrow(); // it runs at once, and the worker of this test lacks it
    expect(hasStarted(long)).toBe(true);
    long.output.catch(() => {});
    await pool.close();
  });
});
