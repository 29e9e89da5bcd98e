import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Client } from 'pg';
import { systemClock } from '#jobs/clock.js';
import { createLocalQueue } from '#jobs/local/local-queue.js';
import { nodeLimits } from '#jobs/node-limits.js';
import { createPostgresQueue } from '#jobs/postgres/postgres-queue.js';
import type { ClaimOrder, Ending, JobQueue, NewJob } from '#jobs/queue.js';
import { openDatabaseDocuments } from '#store/postgres/open-documents.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { startPostgresql } from '../../../test/postgresql/postgresql-server.js';
import { percentile, spread } from '../../percentiles.js';
import { serverProcess } from './server-process.js';
import { numberFrom } from '../../variables.js';

/**
 * The queue on PostgreSQL, flushed to disk, from two processes' connections: a job of nothing from its submission to its
 * end beside the embedded queue; cancellations until another node reads them; reads on one node after writes on another;
 * PostgreSQL's processor time and write-ahead log a job, with few and with `OLD` ended jobs. Goals: 15 ms more than
 * embedded; cancelled readable within 100 ms (p99); no stale read.
 */
const JOBS = 300;
const WARM_UP = 30;
const CANCELS = 300;
const READS = 10_000;
const AT_ONCE = 20;
const BATCH = 500;
const OLD = numberFrom('BENCH_OLD_JOBS');

const quiet = { info: () => {}, warn: () => {}, error: console.error };
const limits = { ...nodeLimits({ workers: 2, memoryBytes: 1e12 }), queueMax: 1e6, endedMax: 1e9 };
const done: Ending = { type: 'succeed', result: { value: null }, message: '' };
const job = (name: string): NewJob => ({
  jobId: `backtest:${name}`,
  kind: 'backtest',
  inputHash: name,
  payload: {},
  request: null,
  estimatedBytes: 1,
  message: undefined,
  origin: null,
});

const folder = await mkdtemp(join(tmpdir(), 'bench-'));
// Flushed: the last of the settings counts.
const server = await startPostgresql({ settings: ['-c', 'fsync=on'] });
const connect = () =>
  openDatabaseDocuments({ place: { url: server.url, migrate: true, isShared: true }, onFailure: console.error });
const [front, worker] = [await connect(), await connect()];
const queueOn = (documents: typeof front, node: string) =>
  createPostgresQueue({ ...documents, documents, node, clock: systemClock, limits, log: quiet });
const home = await openHome(folder);
const store = await openStore({ home, onFailure: console.error });
const embedded = createLocalQueue({ store: store.documents, clock: systemClock, limits, log: quiet });
const queues = { front: queueOn(front, 'front'), worker: queueOn(worker, 'worker') };
for (const queue of [embedded, queues.front, queues.worker])
  await queue.join({ onWork: () => {}, progressOf: () => undefined, room: () => ({ lanes: ['heavy'], freeBytes: 1 }) });

const ORDER: ClaimOrder = { lane: 'heavy', exceptOwners: new Set(), freeBytes: 1, take: () => true };

async function once(submitter: JobQueue, runner: JobQueue, name: string): Promise<number> {
  const start = performance.now();
  await submitter.submit(job(name));
  const claim = await runner.claim(ORDER);
  await runner.complete(claim!.lease, done);
  return performance.now() - start;
}

async function each(count: number, work: (i: number) => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await work(i));
  return times;
}

const overhead = async (name: string) => {
  const [alone, shared]: [number[], number[]] = [[], []];
  // In turns, because other work on the machine meets both.
  for (let i = -WARM_UP; i < JOBS; i++) {
    const times = [
      await once(embedded, embedded, `${name}-e${i}`),
      await once(queues.front, queues.worker, `${name}-s${i}`),
    ];
    if (i < 0) continue; // Connections plan their statements.
    alone.push(times[0]!);
    shared.push(times[1]!);
  }
  console.log(`job of nothing, embedded      ${spread(alone)}`);
  console.log(`job of nothing, on PostgreSQL ${spread(shared)}`);
  const median = (times: number[]) =>
    percentile(
      times.toSorted((a, b) => a - b),
      0.5,
    );
  console.log(`overhead at the median        ${(median(shared) - median(alone)).toFixed(2)} ms`);
};

const client = new Client(server.url);
await client.connect();
const usage = await serverProcess(client);

async function costs(name: string): Promise<void> {
  const { ms, bytes } = await usage.during(async () => {
    for (let i = 0; i < BATCH; i += 10)
      await Promise.all(Array.from({ length: 10 }, (_, j) => once(queues.front, queues.worker, `${name}-${i + j}`)));
  });
  console.log(
    `${name.padEnd(30)}${(ms / BATCH).toFixed(2)} ms of PostgreSQL a job, ${(bytes / BATCH / 1024).toFixed(1)} KiB of WAL`,
  );
}

await overhead('few');
/** Longest time that this process had no processor, or did something else. */
const stalls = monitorEventLoopDelay({ resolution: 2 });
stalls.enable();
const slowest = { ms: 0, committed: 0, stalled: 0 };
const cancels = await each(CANCELS, async (i) => {
  await queues.front.submit(job(`cancel-${i}`));
  await queues.worker.claim(ORDER);
  stalls.reset();
  const start = performance.now();
  await queues.front.cancel(`backtest:cancel-${i}`);
  const committed = performance.now() - start;
  while ((await queues.worker.find(`backtest:cancel-${i}`))?.status.status !== 'cancelled');
  const ms = performance.now() - start;
  if (ms > slowest.ms) Object.assign(slowest, { ms, committed, stalled: stalls.max / 1e6 });
  return ms;
});
stalls.disable();
console.log(`cancelled, read elsewhere     ${spread(cancels)}`);
const { ms: longest, committed, stalled } = slowest;
console.log(
  `  the longest ${longest.toFixed(0)} ms: committed after ${committed.toFixed(0)}, event loop held up for ${stalled.toFixed(0)}`,
);
let stale = 0;
async function readAfterWrite(name: string, n: number): Promise<number> {
  const etag = await front.transaction((tx) => tx.put('index', name, { n }));
  const start = performance.now();
  const found = await worker.get('index', name);
  if (found === undefined || 'unreadable' in found || found.etag !== etag) stale++;
  return performance.now() - start;
}
const reads = await Promise.all(
  Array.from({ length: AT_ONCE }, (_, i) => each(READS / AT_ONCE, (n) => readAfterWrite(`read-${i}`, n))),
);
console.log(`stale reads after writes      ${stale} of ${READS}; a read takes ${spread(reads.flat())}`);
await costs('few jobs');
await client.query(
  `INSERT INTO divisor.jobs (job_id, kind, lane, owner, status, sequence, attempt, estimated_bytes, turn, revision)
    SELECT 'old:' || n, 'backtest', 'heavy', '', 'succeeded', -n, 1, 1, 0, 0 FROM generate_series(1, ${OLD}) AS n`,
);
await client.query('ANALYZE divisor.jobs');
await costs(`${OLD} old rows`);

for (const queue of [embedded, queues.front, queues.worker]) await queue.close();
await client.end();
await front.close();
await worker.close();
await store.close();
await home.close();
await server.stop();
await rm(folder, { recursive: true });
