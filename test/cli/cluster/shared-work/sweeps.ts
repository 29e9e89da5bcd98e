import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IS_SOAK } from '../../../soak.js';
import { runService, type RunningService } from '../../../services/running-service.js';
import { INDEX } from '../../even-index.js';
import type { ListeningProcess } from '../../process.js';
import { startHeldParts } from '../paused-parts.js';
import { prepare, putIndices, type RunningCluster } from '../running-cluster.js';
import { waitUntil } from '../../../waiting.js';
import type { SharedWork } from './shared-work.js';

/** Number of variants. A part contains eight variants, so every worker computes several parts. */
const VARIANTS = IS_SOAK ? 240 : 64;

/**
 * Sweep of variants with different definitions, so that no variant reuses the index of another. It has enough parts for
 * all workers.
 */
const SWEEP = {
  document: { ...INDEX, pipeline: { weighting: { type: 'MarketCapWeight', cap: 0.4 } } },
  partitions: 4,
  grid: {
    '/document/pipeline/weighting/cap': Array.from({ length: VARIANTS }, (_, i) => 0.3 + i / 8000),
  },
};
interface RankedSweep {
  readonly sweep_id: string;
  readonly rows: readonly unknown[];
}

async function startSweep({ ask }: RunningService, name: string): Promise<string> {
  const { status, body } = await ask<{ job_id: string }>('POST', '/analytics/sweeps', { ...SWEEP, sweep_id: name });
  expect([status, body]).toEqual([202, expect.anything()]);
  return body.job_id;
}

async function readTable(service: RunningService, jobId: string): Promise<object> {
  const { status, error, result } = await service.waitForJob(jobId);
  expect([status, error]).toEqual(['succeeded', null]);
  const { sweep_id: _, ...table } = result as RankedSweep; // the id differs between sweeps
  expect(table.rows).toHaveLength(VARIANTS);
  return table;
}

/** A simulation in three parts. */
const SIMULATION = { horizon: 252, paths: 160_000 };

async function startSimulation({ ask }: RunningService): Promise<string> {
  const { status, body } = await ask<{ job_id: string }>('POST', '/analytics/RUN/simulate', SIMULATION);
  expect([status, body]).toEqual([202, expect.anything()]);
  return body.job_id;
}

/** Returns the result of a finished simulation. */
async function readPaths(service: RunningService, jobId: string): Promise<unknown> {
  const { status, error, result } = await service.waitForJob(jobId);
  expect([status, error]).toEqual(['succeeded', null]);
  return result;
}

/** Optimisations that are divided into three parts. One optimisation is infeasible. */
const STUDY = Array.from({ length: 20 }, (_, i) => ({
  index_id: 'RUN',
  constraint_set_id: i === 9 ? 'none' : 'limits',
  objective: { type: 'max_utility', risk_aversion: 1 + i },
  expected_returns: { type: 'capm', risk_aversion: 2.5 },
}));

async function startStudy({ ask }: RunningService): Promise<string> {
  const body = { study_id: 'many', runs: STUDY };
  const answer = await ask<{ job_id: string }>('POST', '/optimise/studies', body);
  expect([answer.status, answer.body]).toEqual([202, expect.anything()]);
  return answer.body.job_id;
}

/** Returns the rows of a finished study, with the result of each run. */
async function readStudy(service: RunningService, jobId: string): Promise<readonly unknown[]> {
  const { status, error, result } = await service.waitForJob(jobId);
  expect([status, error]).toEqual(['succeeded', null]);
  const { rows, ...counts } = result as { readonly rows: readonly { readonly run_id: string | null }[] };
  expect(counts).toMatchObject({ runs: STUDY.length, solved: STUDY.length - 1, refused: 1 });
  const results = rows.map(({ run_id: id }) => (id === null ? null : service.ask('GET', `/optimise/runs/${id}`)));
  return [rows, ...(await Promise.all(results)).map((answer) => answer?.body)];
}

/** Creates the run of an index on the served market. */
async function prepareRun(service: RunningService): Promise<void> {
  await putIndices(service, ['RUN']);
  const createBounds = (upper: number) => [{ id: 'p', type: 'PositionBounds', params: { lower: 0, upper } }];
  await service.ask('PUT', '/optimise/constraint-sets/limits', {
    id: 'limits',
    name: 'Limits',
    constraints: createBounds(0.5),
  });
  await service.ask('PUT', '/optimise/constraint-sets/none', {
    id: 'none',
    name: 'None',
    constraints: createBounds(0.001),
  });
  // As the clients do, it asks again while the store does not respond.
  await waitUntil(async () => (await service.ask('POST', '/analytics/RUN/backtest', {})).status === 202);
  expect((await service.waitForJob('backtest:RUN')).status).toBe('succeeded');
}

export function describeSweeps(work: SharedWork): void {
  describe('a sweep on several workers', () => {
    let cluster: RunningCluster;
    let expected: object;
    let expectedPaths: unknown;
    let expectedStudy: unknown;
    beforeAll(async () => {
      const embeddedService = await runService();
      await prepare(embeddedService, []);
      await prepareRun(embeddedService);
      expected = await readTable(embeddedService, await startSweep(embeddedService, 'embedded'));
      expectedPaths = await readPaths(embeddedService, await startSimulation(embeddedService));
      expectedStudy = await readStudy(embeddedService, await startStudy(embeddedService));
      await embeddedService.close();
      cluster = work.cluster();
      await prepareRun(cluster.frontEnd);
      await waitForServedStores();
    });
    afterAll(() => cluster?.frontEnd.ask('DELETE', '/indices/RUN'));

    /** Resolves after every worker has fetched the market. */
    const waitForServedStores = () =>
      waitUntil(async () => (await cluster.nodes()).every(({ market }) => market !== null));
    const findWorker = (node: string): ListeningProcess => work.workers.find(({ home }) => node.endsWith(home))!;
    const startHeldJob = (start: () => Promise<string>) => startHeldParts(cluster, { workerAt: findWorker, start });
    const startPausedSweep = (name: string) => startHeldJob(() => startSweep(cluster.frontEnd, name));

    async function kill(worker: ListeningProcess): Promise<void> {
      worker.child.kill('SIGKILL');
      await worker.ended;
      work.workers = work.workers.filter((each) => each !== worker);
    }

    test('is divided among all of them, and is bit-identical to one process', async () => {
      const { jobId, own, other } = await startPausedSweep('all');
      expect(other).not.toBe(own);
      cluster.s3.isHeld = false;
      expect(await readTable(cluster.frontEnd, jobId)).toEqual(expected);
      expect(await cluster.row(jobId)).toMatchObject({ attempt: 1, crashes: 0, losses: 0 });
      expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
    });

    test('divides a simulation in the same way', async () => {
      const { jobId } = await startHeldJob(() => startSimulation(cluster.frontEnd));
      cluster.s3.isHeld = false;
      expect(await readPaths(cluster.frontEnd, jobId)).toEqual(expectedPaths);
      expect(await cluster.row(jobId)).toMatchObject({ attempt: 1, crashes: 0, losses: 0 });
      expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
    });

    test('divides an optimisation study in the same way', async () => {
      const { jobId } = await startHeldJob(() => startStudy(cluster.frontEnd));
      cluster.s3.isHeld = false;
      expect(await readStudy(cluster.frontEnd, jobId)).toEqual(expectedStudy);
      expect(await cluster.row(jobId)).toMatchObject({ attempt: 1, crashes: 0, losses: 0 });
      expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
    });

    test('ends on all of them when it is cancelled', async () => {
      const { jobId } = await startPausedSweep('cancelled');
      await cluster.frontEnd.ask('DELETE', `/jobs/${jobId}`);
      expect(await cluster.row(jobId)).toMatchObject({ status: 'cancelled' });
      expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
      cluster.s3.isHeld = false;
      // Every worker is free, so the next job is shared again.
      await cluster.frontEnd.ask('DELETE', `/jobs/${(await startPausedSweep('next')).jobId}`);
      cluster.s3.isHeld = false;
    });

    test.runIf(IS_SOAK)('continues after a worker is killed; its node computes the parts of that worker', async () => {
      const { jobId, other } = await startPausedSweep('helper');
      await kill(findWorker(other));
      cluster.s3.isHeld = false;
      expect(await readTable(cluster.frontEnd, jobId)).toEqual(expected);
      expect(await cluster.row(jobId)).toMatchObject({ attempt: 1, crashes: 0, losses: 0 });
      work.workers.push(await cluster.startWorker());
      await waitForServedStores();
    });

    test.runIf(IS_SOAK)('restarts when its own worker is killed, and ignores the first attempt', async () => {
      const { jobId, own } = await startPausedSweep('own');
      await kill(findWorker(own));
      const secondAttempt = await cluster.until(jobId, ({ attempt, status }) => attempt === 2 && status === 'running');
      expect(secondAttempt).toMatchObject({ crashes: 0, losses: 1 });
      expect(secondAttempt.node).not.toBe(own);
      cluster.s3.isHeld = false;
      expect(await readTable(cluster.frontEnd, jobId)).toEqual(expected);
      expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
    });

    test.runIf(IS_SOAK)('restarts a study when its own worker is killed, and stores each result once', async () => {
      work.workers.push(await cluster.startWorker());
      await waitForServedStores();
      const { jobId, own } = await startHeldJob(() => startStudy(cluster.frontEnd));
      await kill(findWorker(own));
      cluster.s3.isHeld = false;
      expect(await readStudy(cluster.frontEnd, jobId)).toEqual(expectedStudy);
      expect(await cluster.row(jobId)).toMatchObject({ attempt: 2, crashes: 0, losses: 1 });
      expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
    });

    test.runIf(IS_SOAK)('continues a study after another worker is killed', async () => {
      work.workers.push(await cluster.startWorker());
      await waitForServedStores();
      const { jobId, other } = await startHeldJob(() => startStudy(cluster.frontEnd));
      await kill(findWorker(other));
      cluster.s3.isHeld = false;
      expect(await readStudy(cluster.frontEnd, jobId)).toEqual(expectedStudy);
      expect(await cluster.row(jobId)).toMatchObject({ attempt: 1, crashes: 0, losses: 0 });
    });
  });
}
