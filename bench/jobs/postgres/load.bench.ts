import { Client } from 'pg';
import { systemClock } from '#jobs/clock.js';
import { nodeLimits } from '#jobs/node-limits.js';
import { createPostgresQueue } from '#jobs/postgres/postgres-queue.js';
import type { ClaimOrder, JobQueue } from '#jobs/queue.js';
import { openDatabase } from '#store/postgres/database.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { migrateDatabase } from '#store/postgres/open-documents.js';
import { startPostgresql } from '../../../test/postgresql/postgresql-server.js';
import { spread } from '../../percentiles.js';
import { serverProcess } from './server-process.js';

/**
 * A cluster under load: workers with one connection each that sleep through their jobs, two fronts that submit at a
 * constant rate, old rows in the table. PostgreSQL's processor time and write-ahead log a job, submissions, and the time
 * from a submission to its start. In full: LOAD_SECONDS=600 LOAD_OLD_JOBS=1000000. Goals: at most 60 % of a core for
 * 10,000 jobs a minute, starts within 500 ms (p99).
 */
const SECONDS = Number(process.env['LOAD_SECONDS'] ?? 15);
const JOBS_PER_MINUTE = Number(process.env['LOAD_JOBS_PER_MINUTE'] ?? 10_000);
const WORKERS = Number(process.env['LOAD_WORKERS'] ?? 300);
const OLD = Number(process.env['LOAD_OLD_JOBS'] ?? 100_000);
/** As long as half of the workers are busy with at the full rate. */
const WORK_MS = Number(process.env['LOAD_WORK_MS'] ?? 500);
const FRONTS = 2;
const OPENED_AT_ONCE = 20;
const SCHEMA = '"divisor"';

const log = { info: () => {}, warn: () => {}, error: console.error };
const limits = { ...nodeLimits({ workers: 1, memoryBytes: 1e12 }), queueMax: 1e6, endedMax: 1e9 };
const server = await startPostgresql({ settings: ['-c', 'fsync=on', '-c', `max_connections=${WORKERS + 50}`] });
await migrateDatabase({ url: server.url });
const client = new Client(server.url);
await client.connect();
await client.query(
  `INSERT INTO divisor.jobs (job_id, kind, lane, owner, status, sequence, attempt, estimated_bytes, turn, revision)
    SELECT 'old:' || n, 'backtest', 'heavy', '', 'succeeded', -n, 1, 1, 0, 0 FROM generate_series(1, ${OLD}) AS n`,
);
await client.query('VACUUM ANALYZE divisor.jobs');
const usage = await serverProcess(client);

interface OpenNode {
  readonly queue: JobQueue;
  close(): Promise<void>;
}

async function openNode(
  node: string,
  places: { heavy: number; light: number },
  connectionsMax: number,
): Promise<OpenNode> {
  const database = openDatabase({ url: server.url, connectionsMax });
  const documents = await openPostgresDocuments({ database });
  const about = { role: 'worker', version: 'bench', places, memory_bytes: 1e12, market: null, lacks: [] };
  const describe = () => about;
  const queue = createPostgresQueue({
    database,
    documents,
    schema: SCHEMA,
    node,
    clock: systemClock,
    limits,
    log,
    describe,
  });
  return {
    queue,
    async close() {
      await queue.close();
      await documents.close();
      await database.close();
    },
  };
}

const submittedMs = new Map<string, number>();
const starts: number[] = [];
let ended = 0;

async function openWorker(name: string): Promise<OpenNode> {
  const node = await openNode(name, { heavy: 1, light: 0 }, 1);
  let isBusy = false;
  const order: ClaimOrder = { lane: 'heavy', exceptOwners: new Set(), freeBytes: 1e12, take: () => true };

  async function work(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    for (let claim = await node.queue.claim(order); claim !== undefined; claim = await node.queue.claim(order)) {
      starts.push(performance.now() - submittedMs.get(claim.lease.jobId)!);
      await new Promise((resolve) => setTimeout(resolve, WORK_MS));
      await node.queue.complete(claim.lease, { type: 'succeed', result: { value: null }, message: '' });
      ended++;
    }
    isBusy = false;
  }

  await node.queue.join({
    onWork: () => void work(),
    progressOf: () => undefined,
    room: () => ({ lanes: isBusy ? [] : ['heavy'], freeBytes: 1e12 }),
  });
  return node;
}

const nodes: OpenNode[] = [];
for (let i = 0; i < WORKERS; i += OPENED_AT_ONCE) {
  const names = Array.from({ length: Math.min(OPENED_AT_ONCE, WORKERS - i) }, (_, k) => `worker-${i + k}`);
  nodes.push(...(await Promise.all(names.map(openWorker))));
}
const fronts = await Promise.all(
  Array.from({ length: FRONTS }, (_, i) => openNode(`front-${i}`, { heavy: 0, light: 1 }, 10)),
);
for (const { queue } of fronts)
  await queue.join({ onWork: () => {}, progressOf: () => undefined, room: () => ({ lanes: [], freeBytes: 0 }) });

const submissions: number[] = [];
async function submit(i: number): Promise<void> {
  const jobId = `backtest:${i}`;
  const start = performance.now();
  submittedMs.set(jobId, start);
  const job = {
    kind: 'backtest',
    inputHash: jobId,
    payload: {},
    request: null,
    estimatedBytes: 1,
    message: undefined,
  } as const;
  await fronts[i % FRONTS]!.queue.submit({ ...job, jobId, origin: null });
  submissions.push(performance.now() - start);
}

/** Submits at a constant rate; one that is late is not waited for. */
async function load(): Promise<number> {
  const count = Math.round((JOBS_PER_MINUTE * SECONDS) / 60);
  const start = performance.now();
  const all: Promise<void>[] = [];
  for (let i = 0; i < count; i++) {
    const wait = start + (i * 60_000) / JOBS_PER_MINUTE - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    all.push(submit(i));
  }
  await Promise.all(all);
  const isDone = (): boolean => ended >= count;
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 50));
  return count;
}

const idle = await usage.during(() => new Promise((resolve) => setTimeout(resolve, 5000)));
console.log(`${WORKERS} workers and ${FRONTS} fronts idle   ${idle.share} of a core`);
let count = 0;
const cpuBefore = process.cpuUsage();
const busy = await usage.during(async () => void (count = await load()));
const { user, system } = process.cpuUsage(cpuBefore);
const perMinute = Math.round((count * 60_000) / busy.wallMs);
console.log(`${count} jobs, ${OLD} old rows   ${perMinute} a minute of ${JOBS_PER_MINUTE} asked for`);
console.log(
  `PostgreSQL   ${busy.share} of a core, ${(busy.ms / count).toFixed(2)} ms and ${(busy.bytes / count / 1024).toFixed(1)} KiB of WAL a job`,
);
// One process has all nodes: near one core it is the limit of what is measured here, not the database.
console.log(`all nodes    ${((user + system) / 10 / busy.wallMs).toFixed(0)} % of a core`);
console.log(`submission   ${spread(submissions)}`);
console.log(`start        ${spread(starts)}`);

for (const node of [...nodes, ...fronts]) await node.close();
await client.end();
await server.stop();
