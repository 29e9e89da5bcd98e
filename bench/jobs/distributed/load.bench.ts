import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { systemClock } from '#jobs/port/clock.js';
import { type ClaimOrder, createRetainedPartsStore } from '#jobs/port/queue.js';
import { deriveNodeLimits } from '#jobs/node-limits.js';
import { runParts } from '#jobs/port/parts.js';
import { createPartRows, createSharedParts } from '#jobs/distributed/parts.js';
import { createPostgresQueue } from '#jobs/distributed/queue.js';
import { openArtifacts } from '#store/artifacts/folder-store.js';
import { openDatabase } from '#store/postgres/database.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { migrateDatabase } from '#store/postgres/open-documents.js';
import { startPostgresql } from '../../../test/postgresql/postgresql-server.js';
import { createJob } from '../../../test/jobs/queue-port-world.js';
import { formatSpread } from '../../measure.js';
import type { LoadMessage, LoadOrder, Submissions, TimedJob } from './load-nodes.js';
import { readNumber, readChoice } from '../../variables.js';

/**
 * Measures a cluster under load. Several processes contain workers, which sleep during their jobs. Each worker has one
 * connection and a listener. Two further processes submit jobs at a constant rate. The table contains old rows.
 *
 * Prints the processor time and write-ahead log of PostgreSQL per job, the times of submissions, and the time from a
 * submission to its start, for the whole run and without the first seconds. In full: LOAD_SECONDS=600
 * LOAD_OLD_JOBS=1000000. Goals: at most 60 % of a core for 10,000 jobs a minute, starts within 500 ms (p99).
 *
 * Then the bench measures the processor time of a job part that computes nothing, on one node and on two. Goal: at most
 * 5 ms.
 */
const SECONDS = readNumber('LOAD_SECONDS');
const JOBS_PER_MINUTE = readNumber('LOAD_JOBS_PER_MINUTE');
const WORKERS = readNumber('LOAD_WORKERS');
const OLD_JOBS = readNumber('LOAD_OLD_JOBS');
/**
 * Duration of a job in ms. By default, the jobs keep 83 of 300 workers busy: 10,000 a minute for half a second each.
 */
const WORK_MS = readNumber('LOAD_WORK_MS');
const PROCESSES = readNumber('LOAD_PROCESSES');
/**
 * If on, each worker has a second connection, which checks every 2 s that it is alive. If off, the workers have only
 * the connections that the goal assumes.
 */
const HAS_LISTENERS = readChoice('LOAD_LISTENERS', ['on', 'off']) === 'on';
const PARTS = readNumber('LOAD_PARTS');
const FRONT_NODES = 2;
/** Time until every node has counted the nodes of the cluster. */
const SETTLE_MS = 8000;
const IDLE_MS = 5000;
const BEGINNING_MS = 5000;

const waitMs = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const server = await startPostgresql({ settings: ['-c', 'fsync=on', '-c', `max_connections=${2 * WORKERS + 50}`] });
await migrateDatabase({ url: server.url });
const client = new Client(server.url);
await client.connect();
await client.query(
  `INSERT INTO divisor.jobs (job_id, kind, lane, owner, status, sequence, attempt, estimated_bytes, turn, revision)
    SELECT 'old:' || n, 'backtest', 'heavy', '', 'succeeded', -n, 1, 1, 0, 0 FROM generate_series(1, ${OLD_JOBS}) AS n`,
);
await client.query('VACUUM ANALYZE divisor.jobs');
await client.query('CHECKPOINT');
const usage = await createServerMeter(client);

interface LoadProcess {
  readonly child: ChildProcess;
  ended: number;
}

function awaitMessage<T extends LoadMessage['type']>(
  child: ChildProcess,
  type: T,
): Promise<Extract<LoadMessage, { type: T }>> {
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('a process of the load has ended')));
    child.on(
      'message',
      (news: LoadMessage) => news.type === type && resolve(news as Extract<LoadMessage, { type: T }>),
    );
  });
}

const programPath = fileURLToPath(new URL('./load-nodes.js', import.meta.url));
const processes = await Promise.all(
  Array.from({ length: PROCESSES }, async (_, i): Promise<LoadProcess> => {
    const workers = Math.floor(((i + 1) * WORKERS) / PROCESSES) - Math.floor((i * WORKERS) / PROCESSES);
    const loadTerms = { workers, workMs: WORK_MS, hasListeners: HAS_LISTENERS, hasFront: i < FRONT_NODES };
    const order: LoadOrder = { url: server.url, name: `process-${i}`, ...loadTerms };
    const child = fork(programPath, [JSON.stringify(order)]);
    const process = { child, ended: 0 };
    child.on('message', (news: LoadMessage) => news.type === 'ended' && (process.ended = news.count));
    await awaitMessage(child, 'ready');
    return process;
  }),
);

/** Returns the processor time of the nodes, ms. */
function readNodesMs(): number {
  const ticks = processes.map(({ child }) => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, tick) => sum + tick, 0) * 10;
}

const count = Math.round((JOBS_PER_MINUTE * SECONDS) / 60);
const fronts = processes.slice(0, FRONT_NODES).map(({ child }) => child);

async function submitAll(): Promise<void> {
  const apartMs = (FRONT_NODES * 60_000) / JOBS_PER_MINUTE;
  await Promise.all(
    fronts.map((child, first) => {
      const submissions: Submissions = {
        first,
        step: FRONT_NODES,
        count: Math.ceil((count - first) / FRONT_NODES),
        apartMs,
      };
      child.send(submissions);
      return awaitMessage(child, 'submitted');
    }),
  );
}

async function load(): Promise<void> {
  await submitAll();
  const isDone = (): boolean => processes.reduce((sum, { ended }) => sum + ended, 0) >= count;
  while (!isDone()) await waitMs(50);
}

await waitMs(SETTLE_MS);
const idleHandlers = await usage.during(() => waitMs(IDLE_MS));
console.log(`${WORKERS} workers and ${FRONT_NODES} fronts idle   ${idleHandlers.share} of a core`);
const [nodesBefore, startMs] = [readNodesMs(), performance.timeOrigin + performance.now()];
const [busy, steady] = await Promise.all([
  usage.during(load),
  waitMs(BEGINNING_MS).then(() => usage.during(() => waitMs(Math.max(1, SECONDS - BEGINNING_MS / 1000) * 1000))),
]);
const nodesShare = (100 * (readNodesMs() - nodesBefore)) / busy.wallMs;
const reports = await Promise.all(
  processes.map(({ child }) => {
    const message = awaitMessage(child, 'report');
    child.send('report');
    return message;
  }),
);
const perMinute = Math.round((count * 60_000) / busy.wallMs);
console.log(`${count} jobs, ${OLD_JOBS} old rows   ${perMinute} a minute of ${JOBS_PER_MINUTE} asked for`);
console.log(
  `PostgreSQL   ${busy.share} of a core, ${(busy.ms / count).toFixed(2)} ms and ${(busy.bytes / count / 1024).toFixed(1)} KiB of WAL a job`,
);
const steadyJobs = (steady.wallMs * JOBS_PER_MINUTE) / 60_000;
console.log(
  `  after ${BEGINNING_MS / 1000} s   ${steady.share} of a core, ${(steady.ms / steadyJobs).toFixed(2)} ms and ${(steady.bytes / steadyJobs / 1024).toFixed(1)} KiB of WAL a job asked for`,
);
console.log(`all nodes    ${nodesShare.toFixed(0)} % of a core in ${PROCESSES} processes`);
for (const kind of ['submissions', 'starts'] as const) {
  const all = reports.flatMap((report): readonly TimedJob[] => report[kind]);
  const laterStarts = all.filter(([startedMs]) => startedMs >= startMs + BEGINNING_MS);
  console.log(`${kind.padEnd(13)}${formatSpread(all.map(([, ms]) => ms))}`);
  console.log(`  after ${BEGINNING_MS / 1000} s  ${formatSpread(laterStarts.map(([, ms]) => ms))}`);
}

for (const { child } of processes) child.kill();
if (PARTS > 0) await measureParts();
await client.end();
await server.stop();

/**
 * Prints the processor time of a part: claiming it, writing its output as a file, and keeping the output for a later
 * attempt.
 */
async function measureParts(): Promise<void> {
  const database = openDatabase({ url: server.url });
  const documents = await openPostgresDocuments({ database });
  const folder = await mkdtemp(join(tmpdir(), 'divisor-parts-'));
  const artifacts = await openArtifacts(folder);
  const [clock, limits] = [systemClock, { ...deriveNodeLimits({ workers: 2, memoryBytes: 1e12 }), endedMax: 1e9 }];
  const [schema, log] = ['"divisor"', { info: () => {}, warn: () => {}, error: console.error }];
  const queue = createPostgresQueue({ database, documents, schema, node: 'own', clock, limits, log });
  const order: ClaimOrder = { lane: 'heavy', exceptOwners: new Set(), freeBytes: 1e12, take: () => true };
  const write = () => artifacts.write(new Uint8Array(100), 'ab'.repeat(32));
  function getParts(node: string) {
    const rows = createPartRows(database, schema, { node, version: () => '1' });
    return createSharedParts(rows, documents, clock, limits.leaseMs);
  }

  /** Computes parts of the other node's job. @returns number of computed parts */
  async function computeHelp(over: AbortSignal): Promise<number> {
    const parts = getParts('other');
    for (let helpedCount = 0; ;) {
      parts.note(true);
      const claim = await parts.claim(order);
      if (claim === undefined && over.aborted) return helpedCount;
      if (claim === undefined) await waitMs(20);
      else {
        helpedCount += claim.parts!.length; // the claim is of parts
        await parts.complete(claim.lease, { type: 'succeed', result: { artifact: await write() }, message: '' });
      }
    }
  }

  for (const isShared of [false, true]) {
    await queue.submit(createJob(isShared ? 'shared' : 'alone'));
    const { lease, input } = (await queue.claim(order))!; // the job was just submitted
    const stopController = new AbortController();
    const helping = isShared ? computeHelp(stopController.signal) : Promise.resolve(0);
    const before = process.cpuUsage();
    const { ms, wallMs } = await usage.during(() =>
      runParts(
        { count: PARTS, atOnce: 4, share: 1, here: write },
        {
          offered: isShared ? getParts('own') : undefined,
          kept: createRetainedPartsStore(documents, '1').of(lease, input!), // the claim has an input
          lease,
          artifacts,
          clock,
          signal: new AbortController().signal,
          onElsewhere: () => {},
          onTaken: () => {},
          onKept: () => {},
        },
      ),
    );
    const { user, system } = process.cpuUsage(before);
    stopController.abort();
    const [processorMs, jobMs] = [(user + system) / 1000 / PARTS, ms / PARTS];
    console.log(
      `${PARTS} parts${isShared ? `, ${await helping} on another node` : ''}   ${(processorMs + jobMs).toFixed(2)} ms a part: nodes ${processorMs.toFixed(2)}, PostgreSQL ${jobMs.toFixed(2)}; ${(wallMs / PARTS).toFixed(2)} by the clock`,
    );
    await queue.complete(lease, { type: 'succeed', result: { value: null }, message: '' });
  }
  await queue.close();
  await documents.close();
  await database.close();
  await rm(folder, { recursive: true });
}

/** Resources used by a server during an operation. */
interface ServerUsage {
  /** Processor time of all processes of the server. */
  readonly ms: number;
  readonly wallMs: number;
  /** Processor time divided by wall-clock time, formatted as text. */
  readonly share: string;
  /** Bytes of write-ahead log. */
  readonly bytes: number;
}

/**
 * Returns functions that measure the processes of a local PostgreSQL server. Connections that close during a
 * measurement are ignored.
 */
async function createServerMeter(client: Client) {
  const { rows } = await client.query<{ data: string }>(`SELECT current_setting('data_directory') AS data`);
  const pid = readFileSync(`${rows[0]!.data}/postmaster.pid`, 'utf8').split('\n')[0];

  async function readProcessorMs(): Promise<number> {
    let ticks = 0;
    for (const name of await readdir('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      // Fields after the program name: state, parent and so on.
      const fields = (await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')).split(') ')[1]?.split(' ') ?? [];
      if (fields[1] === pid) ticks += Number(fields[11]) + Number(fields[12]);
    }
    return ticks * 10;
  }

  const readWalBytes = async (): Promise<number> =>
    Number((await client.query(`SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bytes`)).rows[0].bytes);

  return {
    async during(work: () => Promise<unknown>): Promise<ServerUsage> {
      const [ms, bytes, start] = [await readProcessorMs(), await readWalBytes(), performance.now()];
      await work();
      const wallMs = performance.now() - start;
      const usedMs = (await readProcessorMs()) - ms;
      return {
        ms: usedMs,
        wallMs,
        share: `${((100 * usedMs) / wallMs).toFixed(0)} %`,
        bytes: (await readWalBytes()) - bytes,
      };
    },
  };
}
