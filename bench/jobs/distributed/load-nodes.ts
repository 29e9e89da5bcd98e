import { systemClock } from '#jobs/port/clock.js';
import { deriveNodeLimits } from '#jobs/node-limits.js';
import { createPostgresQueue } from '#jobs/distributed/queue.js';
import type { ClaimOrder, JobQueue } from '#jobs/port/queue.js';
import { openDatabase } from '#store/postgres/database.js';
import { takeUse } from '#store/postgres/connections.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { createPreparation } from '#store/postgres/schema.js';

/** Message that orders a process of the load bench to start. */
export interface LoadOrder {
  readonly url: string;
  readonly name: string;
  readonly workers: number;
  readonly workMs: number;
  /** True if each worker also has a second connection, which holds the database lock and receives cancellations. */
  readonly hasListeners: boolean;
  /** True if the process also submits jobs, as a service that answers requests does. */
  readonly hasFront: boolean;
}

/** Jobs that one process submits: every `step`th number from `first`, `count` in all, every `apartMs` ms. */
export interface Submissions {
  readonly first: number;
  readonly step: number;
  readonly count: number;
  readonly apartMs: number;
}

/** Start of an operation in ms since 1970, and its duration in ms. */
export type TimedJob = readonly [atMs: number, ms: number];

export type LoadMessage =
  | { readonly type: 'ready' | 'submitted' }
  | { readonly type: 'ended'; readonly count: number }
  | { readonly type: 'report'; readonly starts: readonly TimedJob[]; readonly submissions: readonly TimedJob[] };

const SCHEMA = '"divisor"';
const OPENING_CONCURRENCY = 20;
const REPORT_INTERVAL_MS = 200;

const log = { info: () => {}, warn: () => {}, error: console.error };
const limits = { ...deriveNodeLimits({ workers: 1, memoryBytes: 1e12 }), queueMax: 1e6, endedMax: 1e9 };
const order = JSON.parse(process.argv[2]!) as LoadOrder; // the bench passes it
const send = (news: LoadMessage): void => void process.send!(news);
const readClockMs = (): number => performance.timeOrigin + performance.now();
const starts: TimedJob[] = [];
const submissions: TimedJob[] = [];
let endedSecurity = 0;

async function openQueue(node: string, slots: { heavy: number; light: number }, role: string): Promise<JobQueue> {
  const connectionsMax = role === 'worker' ? 1 : 10;
  const database = openDatabase({ url: order.url, connectionsMax, prepare: createPreparation(SCHEMA) });
  const documents = await openPostgresDocuments({ database, ...(role === 'worker' && { readMs: 2500 }) });
  const identity = {
    role,
    version: 'bench',
    places: slots,
    memory_bytes: 1e12,
    market: null,
    lacks: [],
    clock_offset_ms: 0,
    removes_orphans: false,
  };
  const clock = systemClock;
  return createPostgresQueue({
    database,
    documents,
    schema: SCHEMA,
    node,
    clock,
    limits,
    log,
    describe: () => identity,
  });
}

async function openWorker(name: string): Promise<void> {
  if (order.hasListeners) await takeUse({ url: order.url, schema: 'divisor', isShared: true }, console.error);
  const queue = await openQueue(name, { heavy: 1, light: 0 }, 'worker');
  let isBusy = false;
  const next: ClaimOrder = { lane: 'heavy', exceptOwners: new Set(), freeBytes: 1e12, take: () => true };

  async function claimJobs(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    for (let claim = await queue.claim(next); claim !== undefined; claim = await queue.claim(next)) {
      const { at: submittedMs } = claim.input!.payload as { readonly at: number }; // `submit` wrote this payload
      starts.push([submittedMs, readClockMs() - submittedMs]);
      await new Promise((resolve) => setTimeout(resolve, order.workMs));
      await queue.complete(claim.lease, { type: 'succeed', result: { value: null }, message: '' });
      endedSecurity++;
    }
    isBusy = false;
  }

  const describeCapacity = () => ({ lanes: isBusy ? [] : (['heavy'] as const), freeBytes: 1e12 });
  await queue.join({
    onWork: () => void claimJobs(),
    findProgress: () => undefined,
    getFreeCapacity: describeCapacity,
  });
}

async function submit(queue: JobQueue, i: number): Promise<void> {
  const submittedMs = readClockMs();
  const job = { kind: 'backtest', request: null, estimatedBytes: 1, message: undefined, origin: null } as const;
  await queue.submit({ ...job, jobId: `backtest:${i}`, inputHash: `${i}`, payload: { at: submittedMs } });
  submissions.push([submittedMs, readClockMs() - submittedMs]);
}

/** Submits jobs at a constant rate. It does not wait for submissions that are late. */
async function submitAll(queue: JobQueue, { first, step, count, apartMs }: Submissions): Promise<void> {
  const start = performance.now();
  const all: Promise<void>[] = [];
  for (let i = 0; i < count; i++) {
    const wait = start + i * apartMs - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    all.push(submit(queue, first + i * step));
  }
  await Promise.all(all);
  send({ type: 'submitted' });
}

for (let i = 0; i < order.workers; i += OPENING_CONCURRENCY) {
  const count = Math.min(OPENING_CONCURRENCY, order.workers - i);
  await Promise.all(Array.from({ length: count }, (_, k) => openWorker(`${order.name}-${i + k}`)));
}
const front = order.hasFront ? await openQueue(`${order.name}-front`, { heavy: 0, light: 1 }, 'serve') : undefined;
await front?.join({
  onWork: () => {},
  findProgress: () => undefined,
  getFreeCapacity: () => ({ lanes: [], freeBytes: 0 }),
});

process.on('message', (message: Submissions | 'report') => {
  if (message === 'report') send({ type: 'report', starts, submissions });
  else void submitAll(front!, message);
});
process.on('disconnect', () => process.exit());
setInterval(() => send({ type: 'ended', count: endedSecurity }), REPORT_INTERVAL_MS);
send({ type: 'ready' });
