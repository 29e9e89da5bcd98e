import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#jobs/clock.js';
import { createJobSystem } from '#jobs/create-job-system.js';
import { createLocalQueue } from '#jobs/local/local-queue.js';
import { nodeLimits } from '#jobs/node-limits.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { JobKind } from '#jobs/job-kind.js';
import { createPool } from '#jobs/pool.js';
import { createNodePool } from '#jobs/resolve-task.js';
import type { JobStatus } from '#jobs/status.js';
import type { TaskName } from '#jobs/tasks.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { spread } from '../percentiles.js';

/**
 * The job system over a real store and real threads: submission until it is on disk, a whole short job, cancelling endless
 * loops of JavaScript and WebAssembly until the state is readable and until the thread works again, and a start with
 * many jobs stored. Goals: cancelled readable within 100 ms and processor back within 500 ms (p99), start within 2 s.
 */
const WORKERS = 2;
const JOBS = 20_000;
const CANCELS = 40;
const door = new URL('../../test/jobs/hostile-worker.js', import.meta.url);
const quiet = { info: () => {}, warn: () => {}, error: console.error };

/** A job that is one task of the hostile worker, whose names the product's map does not know. */
interface Payload {
  readonly of: string;
  readonly task: string;
  readonly input: unknown;
}
const kind: JobKind<Payload> = {
  kind: 'simulate',
  key: ({ of }) => of,
  decode: (stored) => stored as Payload,
  run: async ({ task, input }, attempt) => ({
    result: { value: await attempt.compute(task as TaskName, input as never) },
  }),
};

const folder = await mkdtemp(join(tmpdir(), 'bench-'));

async function open(workers: number) {
  const home = await openHome(folder);
  const store = await openStore({ home, onFailure: console.error });
  const threads = createPool({ workers: Math.max(workers, 1), door });
  const none = async () => Promise.reject(new Error('no task reads files or a market'));
  const pool = createNodePool(threads, { file: none, market: none, destination: store.artifacts.destination });
  const limits = { ...nodeLimits({ workers, memoryBytes: 1e12 }), queueMax: 2 * JOBS };
  const clock = systemClock;
  const queue = createLocalQueue({ store: store.documents, clock, limits, log: quiet });
  const engine = createJobSystem({ queue, artifacts: store.artifacts, pool, clock, limits, log: quiet });
  engine.register({ [kind.kind]: kind });
  await engine.start();
  return {
    engine,
    pool,
    async close() {
      await engine.stop();
      await store.close();
      await home.close();
    },
  };
}

const submit = (engine: JobSystem, of: string, payload: Omit<Payload, 'of'>) =>
  engine.submit({ kind, payload: { of, ...payload }, request: payload, estimatedBytes: 1 });

function until(engine: JobSystem, jobId: string, isReached: (status: JobStatus | undefined) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = async (): Promise<void> => {
      if (!isReached(await engine.get(jobId))) return;
      unwatch();
      resolve();
    };
    const unwatch = engine.watch(jobId, look);
    void look();
  });
}

async function timed(times: number[], work: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  await work();
  times.push(performance.now() - start);
}

let world = await open(WORKERS);
const whole: number[] = [];
for (let i = 0; i < 300; i++) {
  await timed(whole, async () => {
    await submit(world.engine, `short-${i}`, { task: 'echo', input: i });
    await until(world.engine, `simulate:short-${i}`, (job) => job?.status === 'succeeded');
  });
}
console.log(`short job, submitted to succeeded  ${spread(whole)}`);

for (const task of ['spin', 'spinWasm']) {
  const readable: number[] = [];
  const back: number[] = [];
  for (let i = 0; i < CANCELS; i++) {
    for (let worker = 0; worker < WORKERS; worker++)
      await submit(world.engine, `${task}-${i}-${worker}`, { task, input: null });
    for (let worker = 0; worker < WORKERS; worker++)
      await until(world.engine, `simulate:${task}-${i}-${worker}`, (job) => job?.message === 'spinning');
    const start = performance.now();
    await Promise.all(
      Array.from({ length: WORKERS }, (_, worker) =>
        timed(readable, () => world.engine.cancel(`simulate:${task}-${i}-${worker}`)),
      ),
    );
    await Promise.all(
      Array.from(
        { length: WORKERS },
        (_, worker) => world.pool.run({ lane: 'heavy', task: 'echo' as TaskName, input: worker as never }).output,
      ),
    );
    back.push(performance.now() - start);
  }
  console.log(`${task.padEnd(8)} cancelled is readable      ${spread(readable)}`);
  console.log(`${task.padEnd(8)} every thread works again   ${spread(back)}`);
}
await world.close();

world = await open(0); // No place to run: jobs are submitted and wait.
const one: number[] = [];
for (let i = 0; i < 1000; i++) await timed(one, () => submit(world.engine, `one-${i}`, { task: 'echo', input: i }));
console.log(`submission, one client             ${spread(one)}`);
const many: number[] = [];
const start = performance.now();
await Promise.all(
  Array.from({ length: 64 }, async (_, client) => {
    for (let i = client; i < JOBS; i += 64)
      await timed(many, () => submit(world.engine, `many-${i}`, { task: 'echo', input: i }));
  }),
);
console.log(
  `submission, 64 clients             ${spread(many)}   ${(JOBS / ((performance.now() - start) / 1000)).toFixed(0)} /s`,
);
await world.close();

const starts: number[] = [];
for (let i = 0; i < 3; i++) {
  await timed(starts, async () => {
    world = await open(0);
  });
  await world.close();
}
console.log(`start with ${JOBS + 1000} waiting jobs      ${spread(starts)}`);
await rm(folder, { recursive: true });
