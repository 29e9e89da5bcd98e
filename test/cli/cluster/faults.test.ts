import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { migrateDatabase } from '#store/postgres/open-documents.js';
import { hasPostgresql, startPostgresql, type PostgresqlServer } from '../../postgresql/postgresql-server.js';
import { openStallingProxy, type StallingProxy } from '../../postgresql/stalling-proxy.js';
import { seeded } from '../../seeded.js';
import { IS_SOAK } from '../../soak.js';
import { startS3, type S3Service } from '../../store/s3/s3-service.js';
import { INDEX, MARKET } from '../even-index.js';
import { serving, working, type Listening } from '../process.js';

/** `CLUSTER_SHARE=0.1` does a tenth of it. */
const SHARE = Number(process.env['CLUSTER_SHARE'] ?? 1);
const times = (count: number): number => Math.max(1, Math.round(count * SHARE));
const ACKNOWLEDGED = Math.round(10_000 * SHARE);
const LEASE_S = 10;
const AWAY_MS = 14_000;
const CLIENTS = 4;

type Json = Record<string, unknown>;

interface Place {
  run: Listening;
  readonly start: () => Promise<Listening>;
}

interface Written {
  readonly indices: Set<string>;
  readonly jobs: Set<string>;
  stale: number;
  reads: number;
}

/** One request; undefined where it was refused or not answered, which acknowledges nothing. */
async function ask(url: string, method: string, path: string, body?: unknown): Promise<Json | undefined> {
  const init =
    body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const signal = AbortSignal.timeout(60_000);
  const answer = await fetch(`${url}${path}`, { method, signal, ...init }).catch(() => undefined);
  return answer?.ok === true ? ((await answer.json().catch(() => undefined)) as Json | undefined) : undefined;
}

/** Defines an index on one front, reads it on another, and submits its backtest, again and again. */
async function work(fronts: readonly Place[], client: number, written: Written, isOver: () => boolean): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const id = `C${client}N${n}`;
    const [one, other] = client % 2 === 0 ? fronts : fronts.toReversed();
    if ((await ask(one!.run.url, 'PUT', `/indices/${id}`, { ...INDEX, id })) === undefined) {
      await sleep(200);
      continue;
    }
    written.indices.add(id);
    const answer = await fetch(`${other!.run.url}/indices/${id}`).catch(() => undefined);
    if (answer?.status === 404) written.stale++;
    if (answer?.ok === true) written.reads++;
    await answer?.body?.cancel().catch(() => {});
    const job = await ask(other!.run.url, 'POST', `/analytics/${id}/backtest`, {});
    if (job !== undefined) written.jobs.add(String(job['job_id']));
  }
}

interface Faulty {
  readonly server: PostgresqlServer;
  readonly s3: S3Service;
  readonly proxies: readonly StallingProxy[];
  readonly fronts: readonly Place[];
  readonly workers: readonly Place[];
  close(): Promise<void>;
}

/** A database of its own, two fronts, and four workers whose ways to the database can be cut. */
async function openFaulty(): Promise<Faulty> {
  const server = await startPostgresql({ settings: ['-c', 'max_connections=200'] });
  await migrateDatabase({ url: server.url });
  const s3 = await startS3();
  const base = await mkdtemp(join(tmpdir(), 'divisor-faults-'));
  const proxies = await Promise.all(Array.from({ length: 4 }, () => openStallingProxy(server.url)));
  const environment = (url: string): Record<string, string> => ({
    DATABASE_URL: url,
    DIVISOR_ARTIFACTS: `s3://${s3.access.bucket}/${s3.access.prefix}`,
    AWS_ENDPOINT_URL_S3: s3.access.endpoint,
    AWS_ACCESS_KEY_ID: s3.access.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.access.secretAccessKey,
    DIVISOR_LEASE: String(LEASE_S),
  });
  const flags = ['--log-level', 'warn', '--drain-ms', '0'];
  const place = async (start: () => Promise<Listening>): Promise<Place> => ({ start, run: await start() });
  const front = (i: number) => place(() => serving(join(base, `front-${i}`), flags, environment(server.url)));
  const worker = (url: string, i: number) =>
    place(() => working(join(base, `worker-${i}`), [...flags, '--workers', '1'], environment(url)));
  const fronts = await Promise.all([front(0), front(1)]);
  const workers = await Promise.all(proxies.map(({ url }, i) => worker(url, i)));
  return {
    server,
    s3,
    proxies,
    fronts,
    workers,
    async close() {
      for (const { run } of [...fronts, ...workers]) run.child.kill('SIGKILL');
      await Promise.all([...fronts, ...workers].map(({ run }) => run.ended));
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await s3.stop();
      await server.stop();
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** Everything that is to happen, in an order of chance. */
function faultsOf({ server, s3, proxies, fronts, workers }: Faulty, random: () => number): (() => Promise<void>)[] {
  const any = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  async function kill(one: Place): Promise<void> {
    one.run.child.kill('SIGKILL');
    await one.run.ended;
    one.run = await one.start();
  }
  async function pause({ run: { child } }: Place): Promise<void> {
    child.kill('SIGSTOP');
    await sleep(AWAY_MS);
    child.kill('SIGCONT');
  }
  async function cut(proxy: StallingProxy): Promise<void> {
    proxy.stall();
    await sleep(AWAY_MS);
    proxy.pass();
  }
  async function closeObjects(): Promise<void> {
    s3.isClosed = true;
    await sleep(20_000);
    s3.isClosed = false;
  }
  const repeated = (count: number, fault: () => Promise<void>) => Array.from({ length: times(count) }, () => fault);
  const faults = [
    ...repeated(50, () => kill(any(workers))),
    ...repeated(10, () => server.crash()),
    ...repeated(10, () => pause(any(workers))),
    ...repeated(10, () => cut(any(proxies))),
    ...repeated(5, () => kill(any(fronts))),
    closeObjects,
  ];
  return faults
    .map((fault) => ({ fault, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ fault }) => fault);
}

/** What is in the database once every job has come to its end. */
async function found(url: string, { indices, jobs, reads, stale }: Written) {
  const client = new Client(url);
  await client.connect();
  const column = async (sql: string): Promise<string[]> =>
    (await client.query<{ id: string }>(sql)).rows.map(({ id }) => id);
  const idsBy = (status: string) => column(`SELECT job_id AS id FROM divisor.jobs WHERE status = '${status}'`);
  while ([...(await idsBy('pending')), ...(await idsBy('running'))].length > 0) await sleep(500);
  const stored = new Set(await column(`SELECT id FROM divisor.documents WHERE kind = 'index'`));
  const known = new Set(await column('SELECT job_id AS id FROM divisor.jobs'));
  const runs = await column(`SELECT body::jsonb ->> 'index_id' AS id FROM divisor.documents WHERE kind = 'run'`);
  const succeeded = (await idsBy('succeeded')).filter((id) => id.startsWith('backtest:'));
  const redone = `SELECT id FROM divisor.documents WHERE kind = 'job' AND (body::jsonb ->> 'attempt')::int > 1`;
  const result = {
    indices: indices.size,
    jobs: jobs.size,
    lost: [...indices].filter((id) => !stored.has(id)).length + [...jobs].filter((id) => !known.has(id)).length,
    doubled: runs.length - new Set(runs).size,
    halves: succeeded.filter((id) => !runs.includes(id.slice('backtest:'.length))).length,
    failed: (await idsBy('failed')).length,
    redone: (await column(redone)).length,
    reads,
    staleReads: stale,
    staleFinishes: Number((await column(`SELECT sum((state::jsonb ->> 'stale')::int) AS id FROM divisor.nodes`))[0]),
  };
  await client.end();
  return result;
}

test.skipIf(!IS_SOAK || !hasPostgresql)(
  'nothing acknowledged is lost, doubled or half there, whatever of a cluster ends, stands still or is cut off',
  async () => {
    const cluster = await openFaulty();
    const { fronts } = cluster;
    const written: Written = { indices: new Set(), jobs: new Set(), stale: 0, reads: 0 };
    const url = fronts[0]!.run.url;
    const { job_id: market } = (await ask(url, 'POST', '/data/synthetic', MARKET))!;
    while ((await ask(url, 'GET', `/jobs/${String(market)}?wait=5`))?.['status'] !== 'succeeded');
    const faults = faultsOf(cluster, seeded(Number(process.env['SEED'] ?? 1)));
    const state = { isOver: false };
    const clients = Array.from({ length: CLIENTS }, (_, i) => work(fronts, i, written, () => state.isOver));
    const reached = async (count: number): Promise<void> => {
      while (written.indices.size + written.jobs.size < count) await sleep(100);
    };
    for (const [i, fault] of faults.entries()) {
      await reached((ACKNOWLEDGED * i) / faults.length);
      await fault();
    }
    await reached(ACKNOWLEDGED);
    state.isOver = true;
    await Promise.all(clients);
    const result = await found(cluster.server.url, written);
    console.log(JSON.stringify({ share: SHARE, faults: faults.length, ...result }));
    expect(result).toMatchObject({ lost: 0, doubled: 0, halves: 0, staleReads: 0 });
    await cluster.close();
  },
  3_600_000,
);
