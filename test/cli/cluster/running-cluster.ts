import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect } from 'vitest';
import { listNodes } from '#jobs/distributed/nodes.js';
import { migrateDatabase } from '#store/postgres/open-documents.js';
import { makeLeastRole } from '../../postgresql/least-role.js';
import { openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { type RunningService, runService } from '../../services/running-service.js';
import { type S3Service, startS3 } from '../../store/s3/s3-service.js';
import { INDEX, MARKET } from '../even-index.js';
import { type ListeningProcess, startWorkerProcess } from '../process.js';

/** Row of a job, with the columns that show if its worker is silent. */
export interface JobRow {
  readonly status: string;
  readonly attempt: number;
  readonly node: string | null;
  readonly lease_until: Date | null;
  readonly crashes: number;
  readonly losses: number;
  readonly started_at: string | null;
}

/** A service in this process, workers in separate processes, a database, and an object store that can refuse writes. */
export interface RunningCluster {
  readonly frontEnd: RunningService;
  readonly s3: S3Service;
  /** Database address for the service's role. */
  readonly url: string;
  /** Environment variables of every process. */
  readonly environment: Record<string, string>;
  startWorker(): Promise<ListeningProcess>;
  /** Starts another service in this process that answers requests of the cluster. */
  startFront(flags?: readonly string[]): Promise<RunningService>;
  query<R extends object>(sql: string, values?: readonly unknown[]): Promise<readonly R[]>;
  row(jobId: string): Promise<JobRow>;
  /** Returns the row of a job once it satisfies the condition. */
  until(jobId: string, isReached: (row: JobRow) => boolean): Promise<JobRow>;
  nodes(): ReturnType<typeof listNodes>;
  close(): Promise<void>;
}

const LOOK_MS = 25;

/** Starts a cluster with one service and without workers. @param variables additional settings of every process */
export async function openCluster(variables: Record<string, string> = {}): Promise<RunningCluster> {
  const { url: ownerUrl, name: role, drop } = await openTestDatabase();
  await migrateDatabase({ url: ownerUrl });
  const s3 = await startS3();
  const base = await mkdtemp(join(tmpdir(), 'divisor-cluster-'));
  const client = new Client(ownerUrl);
  await client.connect();
  const url = await makeLeastRole(client, { url: ownerUrl, role, schema: 'divisor' });
  const environment = { ...createPlaces(url, s3), ...variables };
  const workers: ListeningProcess[] = [];
  const frontEnds: RunningService[] = [];

  async function query<R extends object>(sql: string, values: readonly unknown[] = []): Promise<readonly R[]> {
    return (await client.query(sql, [...values])).rows as R[];
  }

  async function readRow(jobId: string): Promise<JobRow> {
    const [row] = await query<JobRow>(
      `SELECT j.status, j.attempt, j.node, j.lease_until, (d.body::jsonb ->> 'crashes')::int AS crashes, (d.body::jsonb ->> 'losses')::int AS losses,
          j.started_at::text
        FROM divisor.jobs AS j JOIN divisor.documents AS d ON d.kind = 'job' AND d.id = j.job_id WHERE job_id = $1`,
      [jobId],
    );
    return row!;
  }

  async function startFrontEnd(flags: readonly string[] = []): Promise<RunningService> {
    const frontEnd = await runService(flags, environment);
    frontEnds.push(frontEnd);
    return frontEnd;
  }

  return {
    frontEnd: await startFrontEnd(),
    s3,
    url,
    environment,
    async startWorker() {
      const home = join(base, randomBytes(4).toString('hex'));
      const worker = await startWorkerProcess(home, ['--workers', '1', '--drain-ms', '0'], environment);
      workers.push(worker);
      return worker;
    },
    startFront: startFrontEnd,
    query,
    row: readRow,
    async until(jobId, isReached) {
      for (;;) {
        const result = await readRow(jobId);
        if (isReached(result)) return result;
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    },
    nodes: () => listNodes({ url }),
    async close() {
      for (const { child } of workers) child.kill('SIGKILL');
      await Promise.all(workers.map(({ ended }) => ended));
      for (const frontEnd of frontEnds) await frontEnd.close();
      await client.end();
      await s3.stop();
      await drop();
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** Returns the settings that contain the addresses of the database and the object store of a cluster. */
export function createPlaces(url: string, { access }: S3Service): Record<string, string> {
  return {
    DATABASE_URL: url,
    DIVISOR_ARTIFACTS: `s3://${access.bucket}/${access.prefix}`,
    AWS_ENDPOINT_URL_S3: access.endpoint,
    AWS_ACCESS_KEY_ID: access.keys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: access.keys.secretAccessKey,
  };
}

/** Creates a market of five securities and indices on it. */
export async function prepare(service: RunningService, ids: readonly string[], market = MARKET): Promise<void> {
  const { body } = await service.ask<{ job_id: string }>('POST', '/data/synthetic', market);
  expect(await service.waitForJob(body.job_id)).toMatchObject({ status: 'succeeded' });
  await putIndices(service, ids);
}

/** Creates indices on the served market. */
export async function putIndices({ ask }: RunningService, ids: readonly string[]): Promise<void> {
  for (const id of ids) expect((await ask('PUT', `/indices/${id}`, { ...INDEX, id })).status).toBe(200);
}
