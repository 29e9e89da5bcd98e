import { expect, test } from 'vitest';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { runService } from '../../services/running-service.js';
import { IS_SOAK } from '../../soak.js';
import { MARKET } from '../even-index.js';
import type { ListeningProcess } from '../process.js';
import { openCluster, prepare, type RunningCluster } from './running-cluster.js';
import { createSuite } from './suite.js';

/** Number of kills. A job fails only after more. */
const KILLS = 2;
/** Market of the large case. The small case with one worker is in the tests of stopped workers. */
const LARGE = { ...MARKET, assets: 200, start: '2018-01-02' };

async function openEmbeddedWith(threads: number) {
  const service = await runService(['--workers', String(threads)]);
  try {
    await prepare(service, [], LARGE);
    const suite = createSuite(service);
    await suite.submit();
    return await suite.hashes();
  } finally {
    await service.close();
  }
}

/** Returns a worker that runs a job, or undefined if no job is left. */
async function findHolder(
  { query }: RunningCluster,
  workers: readonly ListeningProcess[],
): Promise<ListeningProcess | undefined> {
  for (;;) {
    const liveRows = await query<{ node: string | null }>(
      `SELECT node FROM divisor.jobs WHERE lane = 'heavy' AND status IN ('pending', 'running')`,
    );
    if (liveRows.length === 0) return undefined;
    const holder = workers.find(({ home }) => liveRows.some(({ node }) => node?.endsWith(home)));
    if (holder !== undefined) return holder;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Starts a number of workers, and twice kills the worker that runs a job. */
async function openClusterWith(count: number) {
  const cluster = await openCluster({ DIVISOR_LEASE: '5' });
  try {
    let workers = await Promise.all(Array.from({ length: count }, cluster.startWorker));
    await prepare(cluster.frontEnd, [], LARGE);
    const suite = createSuite(cluster.frontEnd);
    await suite.submit();
    for (let kills = 0; kills < KILLS; kills++) {
      const holder = await findHolder(cluster, workers);
      if (holder === undefined) break; // all jobs have ended
      holder.child.kill('SIGKILL');
      workers = [...workers.filter((worker) => worker !== holder), await cluster.startWorker()];
    }
    return await suite.hashes();
  } finally {
    await cluster.close();
  }
}

test.skipIf(!IS_SOAK || !hasPostgresql)(
  'backtests, optimisations, risk models, sweeps and simulations are bit-identical on any number of threads and nodes',
  async () => {
    const expected = await openEmbeddedWith(1);
    expect(Object.keys(expected).length).toBeGreaterThan(8);
    expect(await openEmbeddedWith(3)).toEqual(expected);
    for (const workers of [1, 3]) expect(await openClusterWith(workers)).toEqual(expected);
  },
  1_800_000,
);
