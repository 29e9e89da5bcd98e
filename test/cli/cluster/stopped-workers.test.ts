import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { runService } from '../../services/running-service.js';
import { IS_SOAK } from '../../soak.js';
import type { ListeningProcess } from '../process.js';
import { openCluster, prepare, type JobRow, type RunningCluster } from './running-cluster.js';
import { createSuite } from './suite.js';

if (!IS_SOAK)
  console.log(
    'skipped: a paused worker, and the end of a worker during jobs of all kinds, which take half a minute; npm run soak includes them',
  );

const LEASE_S = 5;

/** Ids of indices. Each has a separate run. */
const IDS = ['KILLED', 'PAUSED', 'STOPPED'];

describe.skipIf(!hasPostgresql)('the job of a worker', () => {
  let cluster: RunningCluster;
  let workers: ListeningProcess[];
  beforeAll(async () => {
    cluster = await openCluster({ DIVISOR_LEASE: String(LEASE_S) });
    workers = await Promise.all([cluster.startWorker(), cluster.startWorker()]);
    await prepare(cluster.frontEnd, IDS);
  });
  afterAll(() => cluster?.close());

  /** Submits a backtest that cannot end, because its results cannot be written. @returns its worker and its row */
  async function submitEndlessBacktest(
    id: string,
  ): Promise<{ readonly jobId: string; readonly holder: ListeningProcess; readonly row: JobRow }> {
    cluster.s3.isHeld = true;
    cluster.s3.seen.length = 0;
    const { body } = await cluster.frontEnd.ask<{ job_id: string }>('POST', `/analytics/${id}/backtest`, {});
    const row = await cluster.until(body.job_id, ({ status }) => status === 'running');
    await expect.poll(() => cluster.s3.seen.length).toBeGreaterThan(0);
    return { jobId: body.job_id, row, holder: workers.find(({ home }) => row.node!.endsWith(home))! };
  }

  /** Allows writes of results again. Checks that the job takes effect once. */
  async function checkSingleEnd(jobId: string, id: string): Promise<void> {
    cluster.s3.isHeld = false;
    expect(await cluster.frontEnd.waitForJob(jobId)).toMatchObject({ status: 'succeeded' });
    expect(await readRuns(id)).toHaveLength(1);
  }

  const readRuns = (id: string) =>
    cluster.query(
      `SELECT id, etag, updated_at FROM divisor.documents WHERE kind = 'run' AND body::jsonb ->> 'index_id' = $1`,
      [id],
    );

  test('restarts on another worker after the lease of a killed worker expires, and takes effect once', async () => {
    const { jobId, holder, row } = await submitEndlessBacktest('KILLED');
    holder.child.kill('SIGKILL');
    expect(await holder.ended).toBe('SIGKILL');
    const lostRow = await cluster.row(jobId);
    const secondAttempt = await cluster.until(
      jobId,
      ({ attempt, status }) => attempt > row.attempt && status === 'running',
    );
    expect(secondAttempt.node).not.toBe(row.node);
    expect(secondAttempt).toMatchObject({ crashes: 0, losses: 1 });
    expect(Date.parse(secondAttempt.started_at!)).toBeGreaterThanOrEqual(lostRow.lease_until!.getTime());
    await checkSingleEnd(jobId, 'KILLED');
    workers = [...workers.filter((each) => each !== holder), await cluster.startWorker()];
  });

  test.runIf(IS_SOAK)(
    'moves to another worker if its worker pauses for longer than the lease; later messages of the paused worker change nothing',
    async () => {
      const { jobId, holder, row } = await submitEndlessBacktest('PAUSED');
      holder.child.kill('SIGSTOP');
      const secondAttempt = await cluster.until(
        jobId,
        ({ attempt, status }) => attempt > row.attempt && status === 'running',
      );
      expect(secondAttempt.node).not.toBe(row.node);
      await checkSingleEnd(jobId, 'PAUSED');
      const storedRuns = await readRuns('PAUSED');
      const endedRow = await cluster.row(jobId);
      const { heartbeat: before } = await readHeartbeat(row.node!);
      holder.child.kill('SIGCONT');
      await expect.poll(async () => (await readHeartbeat(row.node!)).heartbeat).not.toEqual(before);
      expect(await readRuns('PAUSED')).toEqual(storedRuns);
      expect(await cluster.row(jobId)).toEqual(endedRow);
    },
  );

  const readHeartbeat = async (node: string): Promise<{ readonly heartbeat: Date }> =>
    (
      await cluster.query<{ heartbeat: Date }>('SELECT seen_at AS heartbeat FROM divisor.nodes WHERE node = $1', [node])
    )[0]!;

  test('moves to another worker at once if its worker is stopped, without counting as a crash', async () => {
    const { jobId, holder, row } = await submitEndlessBacktest('STOPPED');
    holder.child.kill('SIGTERM');
    const secondAttempt = await cluster.until(
      jobId,
      ({ attempt, status }) => attempt > row.attempt && status === 'running',
    );
    expect(secondAttempt.node).not.toBe(row.node);
    expect(secondAttempt).toMatchObject({ crashes: 0, losses: 0 });
    await checkSingleEnd(jobId, 'STOPPED');
    expect(await holder.ended).toBe(0);
    // The killed worker did not deregister, but it has no free slots any more.
    const remainingNodes = (await cluster.nodes()).filter(({ node }) => node !== row.node);
    expect(remainingNodes.map(({ role }) => role).toSorted()).toEqual(['service', 'worker', 'worker']);
    workers = workers.filter((each) => each !== holder);
  });

  test.runIf(IS_SOAK)(
    'of any kind is bit-identical to one process with three threads, after its worker ends',
    async () => {
      const suite = createSuite(cluster.frontEnd);
      cluster.s3.isHeld = true;
      await suite.submit();
      const listRunningJobs = () =>
        cluster.query<{ id: string; node: string }>(
          `SELECT job_id AS id, node FROM divisor.jobs WHERE status = 'running'`,
        );
      await expect.poll(async () => (await listRunningJobs()).length).toBeGreaterThan(0);
      const [{ id: killed, node }] = (await listRunningJobs()) as [{ id: string; node: string }];
      const holder = workers.find(({ home }) => node.endsWith(home))!;
      holder.child.kill('SIGKILL');
      cluster.s3.isHeld = false;
      workers = [...workers.filter((each) => each !== holder), await cluster.startWorker()];
      const hashes = await suite.hashes();
      expect(await cluster.row(killed)).toMatchObject({ crashes: 0, losses: 1 });
      const embeddedService = await runService(['--workers', '3']);
      await prepare(embeddedService, []);
      const embeddedSuite = createSuite(embeddedService);
      await embeddedSuite.submit();
      expect(hashes).toEqual(await embeddedSuite.hashes());
      await embeddedService.close();
    },
  );

  test('is reported by its node, which serves no other route', async () => {
    const url = workers.find(({ child }) => child.exitCode === null)!.url;
    // A worker becomes free shortly after the end of its job has been reported.
    await expect
      .poll(async () => (await fetch(`${url}/metrics`)).text())
      .toContain('divisor_lane_busy_ratio{lane="heavy"} 0');
    expect((await fetch(`${url}/indices`)).status).toBe(404);
    const readLanes = async () =>
      (await cluster.frontEnd.ask<{ jobs: { lanes: Record<string, unknown> } }>('GET', '/health')).body.jobs.lanes;
    await expect
      .poll(async () => (await readLanes())['heavy'])
      .toMatchObject({ waiting: 0, running: 0, oldest_wait_seconds: null });
  });
});
