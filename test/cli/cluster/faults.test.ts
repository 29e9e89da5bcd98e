import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { migrateDatabase } from '#store/postgres/open-documents.js';
import { hasPostgresql, startPostgresql, type PostgresqlServer } from '../../postgresql/postgresql-server.js';
import { hasNamespaces, openCutLink } from '../../postgresql/cut-link.js';
import { openStallingProxy, type StallingProxy } from '../../postgresql/stalling-proxy.js';
import { seeded } from '../../seeded.js';
import { IS_SOAK } from '../../soak.js';
import { startS3, type S3Service } from '../../store/s3/s3-service.js';
import { INDEX, MARKET } from '../even-index.js';
import { createFaultPlan } from './fault-plan.js';
import { startService, startWorkerProcess, type ListeningProcess } from '../process.js';

const PLAN = createFaultPlan(process.env);
const LEASE_S = 10;
const AWAY_MS = 14_000;
const OUTAGE_MS = 20_000;
/** Maximum time in ms from the end of a lease until another node runs the job and the test has noticed this. */
const TAKE_OVER_MS = 2000;
const PROMPT_MS = 1000;
const CLIENTS = 4;

type Json = Record<string, unknown>;

interface Front {
  run: ListeningProcess;
  readonly start: () => Promise<ListeningProcess>;
}

interface Writes {
  readonly indices: Set<string>;
  readonly jobs: Set<string>;
  stale: number;
  reads: number;
}

/**
 * Sends a request. Returns undefined if the request was refused or not answered; nothing is acknowledged in that case.
 */
async function ask(url: string, method: string, path: string, body?: unknown): Promise<Json | undefined> {
  const init =
    body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const signal = AbortSignal.timeout(60_000);
  const answer = await fetch(`${url}${path}`, { method, signal, ...init }).catch(() => undefined);
  return answer?.ok === true ? ((await answer.json().catch(() => undefined)) as Json | undefined) : undefined;
}

/** Repeatedly defines an index on one front, reads it on another front, and submits its backtest. */
async function drive(fronts: readonly Front[], client: number, writes: Writes, isOver: () => boolean): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const id = `C${client}N${n}`;
    const [one, other] = client % 2 === 0 ? fronts : fronts.toReversed();
    if ((await ask(one!.run.url, 'PUT', `/indices/${id}`, { ...INDEX, id })) === undefined) {
      await sleep(200);
      continue;
    }
    writes.indices.add(id);
    const answer = await fetch(`${other!.run.url}/indices/${id}`).catch(() => undefined);
    if (answer?.status === 404) writes.stale++;
    if (answer?.ok === true) writes.reads++;
    await answer?.body?.cancel().catch(() => {});
    const job = await ask(other!.run.url, 'POST', `/analytics/${id}/backtest`, {});
    if (job !== undefined) writes.jobs.add(String(job['job_id']));
  }
}

interface FailedJob {
  readonly id: string;
  readonly code: string;
  readonly message: string;
  readonly crashes: number;
  readonly cause: string | null;
  /** Outcome and cause of every attempt except the last one. */
  readonly earlier: readonly string[];
}

/** Period in which a process was unavailable. */
interface Absence {
  readonly home: string;
  readonly fromMs: number;
  untilMs: number;
}

interface FaultyCluster {
  /** Database server. After a failover it is the former standby. */
  server: PostgresqlServer;
  /** Time in ms from the disappearance of a process until its attempts are taken over, one entry per attempt. */
  readonly takeOvers: Promise<number>[];
  readonly absences: Absence[];
  readonly s3: S3Service;
  readonly proxies: readonly StallingProxy[];
  readonly fronts: readonly Front[];
  readonly workers: readonly Front[];
  close(): Promise<void>;
}

/** Settings with enough replication connections for a standby. The standby reads the log while its copy is made. */
const SERVER_SETTINGS = ['-c', 'max_connections=200', '-c', 'wal_keep_size=1GB', '-c', 'max_wal_senders=4'];

/**
 * Starts a separate database, two services that answer requests, and four workers. Each process reaches the database
 * through a proxy that can interrupt the connection.
 */
async function openFaulty(): Promise<FaultyCluster> {
  const server = await startPostgresql({ settings: SERVER_SETTINGS });
  await migrateDatabase({ url: server.url });
  const s3 = await startS3();
  const base = await mkdtemp(join(tmpdir(), 'divisor-faults-'));
  const openWay = hasNamespaces ? openCutLink : openStallingProxy;
  const proxies = await Promise.all(Array.from({ length: 6 }, () => openWay(server.url)));
  const toSettings = (url: string): Record<string, string> => ({
    DATABASE_URL: url,
    DIVISOR_ARTIFACTS: `s3://${s3.access.bucket}/${s3.access.prefix}`,
    AWS_ENDPOINT_URL_S3: s3.access.endpoint,
    AWS_ACCESS_KEY_ID: s3.access.keys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.access.keys.secretAccessKey,
    DIVISOR_LEASE: String(LEASE_S),
  });
  const flags = ['--log-level', 'warn', '--drain-ms', '0'];
  const place = async (start: () => Promise<ListeningProcess>): Promise<Front> => ({ start, run: await start() });
  const startFront = (i: number) => place(() => startService(join(base, `f-${i}`), flags, toSettings(proxies[i]!.url)));
  const startWorker = (url: string, i: number) =>
    place(() => startWorkerProcess(join(base, `worker-${i}`), [...flags, '--workers', '1'], toSettings(url)));
  const fronts = await Promise.all([startFront(0), startFront(1)]);
  const workers = await Promise.all(proxies.slice(2).map(({ url }, i) => startWorker(url, i)));
  const faultyCluster: FaultyCluster = {
    server,
    takeOvers: [],
    absences: [],
    s3,
    proxies,
    fronts,
    workers,
    async close() {
      for (const { run } of [...fronts, ...workers]) run.child.kill('SIGKILL');
      await Promise.all([...fronts, ...workers].map(({ run }) => run.ended));
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await s3.stop();
      await faultyCluster.server.stop();
      await rm(base, { recursive: true, force: true });
    },
  };
  return faultyCluster;
}

/** Returns all faults of the plan in random order. */
function createFaults(faulty: FaultyCluster, random: () => number): (() => Promise<void>)[] {
  const { s3, proxies, fronts, workers, takeOvers, absences } = faulty;
  const pickAny = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  /** Watches the attempts of a process that disappears. @returns a function to call when the process is back */
  async function watchAbsence({ run: { home } }: Front, stop: () => void): Promise<() => void> {
    const attempts = await listAttempts(faulty.server.url, home);
    const absence = { home, fromMs: Date.now(), untilMs: Infinity };
    absences.push(absence);
    stop();
    takeOvers.push(...attempts.map((attempt) => findTakeOver(faulty, attempt)));
    return () => void (absence.untilMs = Date.now());
  }
  async function kill(one: Front): Promise<void> {
    const isBack = await watchAbsence(one, () => void one.run.child.kill('SIGKILL'));
    await one.run.ended;
    one.run = await one.start();
    isBack();
  }
  async function failOver(): Promise<void> {
    const standby = await startPostgresql({ settings: SERVER_SETTINGS, standbyOf: faulty.server });
    await sleep(2000); // both servers run at the same time
    await faulty.server.stop();
    await standby.promote();
    faulty.server = standby;
    for (const proxy of proxies) proxy.turnTo(standby.url);
  }
  async function pause(one: Front): Promise<void> {
    const { child } = one.run;
    const isBack = await watchAbsence(one, () => void child.kill('SIGSTOP'));
    await sleep(AWAY_MS);
    child.kill('SIGCONT');
    isBack();
  }
  async function cut(position: number): Promise<void> {
    const proxy = proxies[position]!;
    const isBack = await watchAbsence([...fronts, ...workers][position]!, () => proxy.stall());
    await sleep(AWAY_MS);
    proxy.pass();
    isBack();
  }
  async function closeObjects(): Promise<void> {
    s3.isClosed = true;
    await sleep(OUTAGE_MS);
    s3.isClosed = false;
  }
  const repeatFault = (count: number, fault: () => Promise<void>) => Array.from({ length: count }, () => fault);
  const faults = [
    ...repeatFault(PLAN.workerKills, () => kill(pickAny(workers))),
    ...repeatFault(PLAN.databaseKills, () => faulty.server.crash()),
    ...repeatFault(PLAN.databaseOutages, () => faulty.server.crash(AWAY_MS)),
    ...repeatFault(PLAN.pauses, () => pause(pickAny(workers))),
    ...repeatFault(PLAN.partitions, () => cut(Math.floor(random() * proxies.length))),
    ...repeatFault(PLAN.frontKills, () => kill(pickAny(fronts))),
    ...repeatFault(PLAN.failovers, failOver),
    ...repeatFault(PLAN.objectStoreOutages, closeObjects),
  ];
  return faults
    .map((fault) => ({ fault, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ fault }) => fault);
}

/** Running attempt of a job. */
interface Attempt {
  readonly job_id: string;
  readonly attempt: number;
}

async function query<R extends object>(url: string, sql: string, values: readonly unknown[]): Promise<readonly R[]> {
  const client = new Client(url);
  client.on('error', () => {}); // the rejected query reports the error
  try {
    await client.connect();
    return (await client.query(sql, [...values])).rows as R[];
  } finally {
    await client.end().catch(() => {});
  }
}

const listAttempts = (url: string, home: string): Promise<readonly Attempt[]> =>
  query(url, `SELECT job_id, attempt FROM divisor.jobs WHERE status = 'running' AND node LIKE '%' || $1`, [home]);

/**
 * Resolves with the time until a new attempt has replaced the given attempt. A database outage restarts the
 * measurement, because leases are extended after an outage.
 */
async function findTakeOver(faulty: FaultyCluster, { job_id: id, attempt }: Attempt): Promise<number> {
  let start = performance.now();
  const runningQuery = `SELECT FROM divisor.jobs WHERE job_id = $1 AND attempt = $2 AND status = 'running'`;
  for (; ; await sleep(100)) {
    const rows = await query(faulty.server.url, runningQuery, [id, attempt]).catch(() => undefined);
    if (rows?.length === 0) return performance.now() - start;
    if (rows === undefined) start = performance.now();
  }
}

/** Returns attempts that are recorded as crashed although their processes were running. */
async function listFalseCrashes({ server, absences }: FaultyCluster): Promise<readonly object[]> {
  const crashedRows = await query<{ readonly node: string; readonly at: string }>(
    server.url,
    `SELECT id, e ->> 'node' AS node, e ->> 'ended_at' AS at, e ->> 'reason' AS reason
      FROM divisor.documents, jsonb_array_elements(body::jsonb -> 'earlier') AS e
      WHERE kind = 'job' AND e ->> 'end' = 'crashed'`,
    [],
  );
  // Other nodes wait for one lease, or for two leases if the database was unavailable in the meantime.
  const isOf = (node: string, atMs: number, { home, fromMs, untilMs }: Absence): boolean =>
    node.includes(home) && atMs >= fromMs && atMs <= untilMs + 2 * LEASE_S * 1000 + TAKE_OVER_MS;
  return crashedRows.filter(({ node, at }) => !absences.some((absence) => isOf(node, Date.parse(at), absence)));
}

/** Counts writes and jobs in the database after every job has ended, among them lost and duplicated ones. */
async function readDatabase(url: string, { indices, jobs, reads, stale }: Writes) {
  const client = new Client(url);
  await client.connect();
  const listIds = async (sql: string): Promise<string[]> =>
    (await client.query<{ id: string }>(sql)).rows.map(({ id }) => id);
  const listByStatus = (status: string) => listIds(`SELECT job_id AS id FROM divisor.jobs WHERE status = '${status}'`);
  while ([...(await listByStatus('pending')), ...(await listByStatus('running'))].length > 0) await sleep(500);
  const savedIds = new Set(await listIds(`SELECT id FROM divisor.documents WHERE kind = 'index'`));
  const storedJobs = new Set(await listIds('SELECT job_id AS id FROM divisor.jobs'));
  const runs = await listIds(`SELECT body::jsonb ->> 'index_id' AS id FROM divisor.documents WHERE kind = 'run'`);
  const succeededIds = (await listByStatus('succeeded')).filter((id) => id.startsWith('backtest:'));
  const redone = `SELECT id FROM divisor.documents WHERE kind = 'job' AND (body::jsonb ->> 'attempt')::int > 1`;
  const result = {
    indices: indices.size,
    jobs: jobs.size,
    lost: [...indices].filter((id) => !savedIds.has(id)).length + [...jobs].filter((id) => !storedJobs.has(id)).length,
    doubled: runs.length - new Set(runs).size,
    halves: succeededIds.filter((id) => !runs.includes(id.slice('backtest:'.length))).length,
    failed: await listFailedJobs(client),
    redone: (await listIds(redone)).length,
    reads,
    staleReads: stale,
    staleFinishes: Number((await listIds(`SELECT sum((state::jsonb ->> 'stale')::int) AS id FROM divisor.nodes`))[0]),
  };
  await client.end();
  return result;
}

/** Returns the failed jobs. Each has the reason and the outcomes of its attempts. */
async function listFailedJobs(client: Client): Promise<readonly FailedJob[]> {
  const { rows } = await client.query<FailedJob>(
    `SELECT d.id, body::jsonb -> 'error' ->> 'code' AS code, body::jsonb -> 'error' ->> 'message' AS message,
        (body::jsonb ->> 'crashes')::int AS crashes, body::jsonb -> 'error' -> 'detail' ->> 'cause' AS cause,
        array(SELECT e ->> 'end' || ': ' || (e ->> 'reason') FROM jsonb_array_elements(body::jsonb -> 'earlier') AS e) AS earlier
      FROM divisor.documents AS d WHERE kind = 'job' AND body::jsonb ->> 'status' = 'failed'`,
  );
  return rows;
}

/** Maximum number of attempts of a job whose processes are killed. */
const ATTEMPTS_MAX = 3;

test.skipIf(!IS_SOAK || !hasPostgresql)(
  'no acknowledged write is lost, duplicated or partial, whichever process of a cluster ends, pauses or is disconnected',
  async () => {
    const cluster = await openFaulty();
    try {
      const { fronts } = cluster;
      const writes: Writes = { indices: new Set(), jobs: new Set(), stale: 0, reads: 0 };
      const url = fronts[0]!.run.url;
      const { job_id: market } = (await ask(url, 'POST', '/data/synthetic', MARKET))!;
      while ((await ask(url, 'GET', `/jobs/${String(market)}?wait=5`))?.['status'] !== 'succeeded');
      const faults = createFaults(cluster, seeded(Number(process.env['SEED'] ?? 1)));
      const state = { isOver: false };
      const clients = Array.from({ length: CLIENTS }, (_, i) => drive(fronts, i, writes, () => state.isOver));
      const waitForCount = async (count: number): Promise<void> => {
        while (writes.indices.size + writes.jobs.size < count) await sleep(100);
      };
      for (const [i, fault] of faults.entries()) {
        await waitForCount((PLAN.acknowledged * i) / faults.length);
        await fault();
      }
      await waitForCount(PLAN.acknowledged);
      state.isOver = true;
      await Promise.all(clients);
      const result = await readDatabase(cluster.server.url, writes);
      const takeOverMs = Math.max(0, ...(await Promise.all(cluster.takeOvers)));
      console.log(
        JSON.stringify({
          plan: PLAN,
          takenOver: cluster.takeOvers.length,
          takeOverMs: Math.round(takeOverMs),
          ...result,
        }),
      );
      expect(result).toMatchObject({ lost: 0, doubled: 0, halves: 0, staleReads: 0 });
      expect(await listFalseCrashes(cluster)).toEqual([]);
      // Jobs fail only after three attempts.
      expect(result.failed.filter(({ code, crashes }) => code !== 'WORKER_CRASHED' || crashes < ATTEMPTS_MAX)).toEqual(
        [],
      );
      expect(takeOverMs).toBeLessThan(LEASE_S * 1000 + TAKE_OVER_MS + PROMPT_MS);
    } finally {
      await cluster.close();
    }
  },
  14_400_000,
);
