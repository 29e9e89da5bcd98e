import { expect, test } from 'vitest';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { runService } from '../../services/running-service.js';
import { IS_SOAK } from '../../soak.js';
import { MARKET } from '../even-index.js';
import { openCluster, prepare } from './running-cluster.js';
import { createSuite } from './suite.js';

/** The small form of it, with one worker, is among the tests of workers that stop. */
const LARGE = { ...MARKET, assets: 200, start: '2018-01-02' };

async function embeddedWith(threads: number) {
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

/** So many workers, of which one is killed at each of the first jobs. */
async function clusterOf(count: number) {
  const cluster = await openCluster({ DIVISOR_LEASE: '5' });
  try {
    let workers = await Promise.all(Array.from({ length: count }, cluster.startWorker));
    await prepare(cluster.front, [], LARGE);
    const suite = createSuite(cluster.front);
    await suite.submit();
    for (const jobId of ['backtest:CAPPED', 'backtest:CALM', 'sweep:costs']) {
      const { node, status } = await cluster.until(jobId, (row) => row.status !== 'pending');
      const holder = workers.find(({ home }) => node?.endsWith(home));
      if (status !== 'running' || holder === undefined) continue; // It was faster.
      holder.child.kill('SIGKILL');
      workers = [...workers.filter((worker) => worker !== holder), await cluster.startWorker()];
    }
    return await suite.hashes();
  } finally {
    await cluster.close();
  }
}

test.skipIf(!IS_SOAK || !hasPostgresql)(
  'backtests, optimisations, risk models, sweeps and simulations have the same bits anywhere',
  async () => {
    const expected = await embeddedWith(1);
    expect(Object.keys(expected).length).toBeGreaterThan(8);
    expect(await embeddedWith(3)).toEqual(expected);
    for (const workers of [1, 3]) expect(await clusterOf(workers)).toEqual(expected);
  },
  1_800_000,
);
