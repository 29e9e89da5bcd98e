import { expect, test } from 'vitest';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { runService, type RunningService } from '../../services/running-service.js';
import { IS_SOAK } from '../../soak.js';
import { INDEX, MARKET } from '../even-index.js';
import { openCluster } from './running-cluster.js';

/** Seeds of the stores; `one` is the active store. */
const SEEDS: Readonly<Record<string, number>> = IS_SOAK ? { one: 1, two: 2, three: 3 } : { one: 1, two: 2 };
const STORES = Object.keys(SEEDS);

async function runJob(service: RunningService, path: string, body: unknown = {}): Promise<void> {
  const { body: job } = await service.ask<{ job_id: string }>('POST', path, body);
  expect(await service.waitForJob(job.job_id)).toMatchObject({ status: 'succeeded' });
}

const generate = (service: RunningService, store: string, activate: boolean) =>
  runJob(service, '/data/synthetic', { ...MARKET, store_id: store, seed: SEEDS[store], activate });

/** Returns levels and weights with risk figures. The risk figures are computed from the market of the run. */
async function readFigures(service: RunningService, id: string): Promise<unknown> {
  const levels = (await service.ask('GET', `/analytics/${id}/levels`)).body as { levels: unknown; stale: unknown };
  const { status, body } = await service.ask('GET', `/analytics/${id}/weights?risk=true`);
  expect([id, status, levels.stale]).toEqual([id, 200, null]);
  return { levels: levels.levels, weights: { ...body, index_id: '' } };
}

test.skipIf(!hasPostgresql)(
  'nodes compute indices of several stores as a service of one store does',
  async () => {
    const expected = new Map<string, unknown>();
    for (const storeId of STORES) {
      const embeddedService = await runService();
      await generate(embeddedService, storeId, true);
      await embeddedService.ask('PUT', '/indices/EVEN', INDEX);
      await runJob(embeddedService, '/analytics/EVEN/backtest');
      expected.set(storeId, await readFigures(embeddedService, 'EVEN'));
      await embeddedService.close();
    }
    const cluster = await openCluster();
    try {
      const { frontEnd } = cluster;
      const worker = await cluster.startWorker();
      for (const storeId of STORES) {
        await generate(frontEnd, storeId, storeId === 'one');
        await frontEnd.ask('PUT', `/indices/${storeId}`, { ...INDEX, id: storeId, store_id: storeId });
      }
      // In the soak, the worker is killed. A new worker computes the interrupted jobs again.
      const startedJobs = await Promise.all(
        STORES.map(
          async (id) => (await frontEnd.ask<{ job_id: string }>('POST', `/analytics/${id}/backtest`, {})).body,
        ),
      );
      if (IS_SOAK) {
        worker.child.kill('SIGKILL');
        await worker.ended;
        await cluster.startWorker();
      }
      for (const { job_id: jobId } of startedJobs)
        expect(await frontEnd.waitForJob(jobId)).toMatchObject({ status: 'succeeded' });
      const second = await cluster.startFront();
      for (const [store, figures] of expected) {
        expect([store, await readFigures(second, store)]).toEqual([store, figures]);
        expect([store, await readFigures(frontEnd, store)]).toEqual([store, figures]);
      }
      // If another service activates another store, no run becomes stale.
      await runJob(second, '/data/stores/two/activate');
      for (const [store, figures] of expected)
        expect([store, await readFigures(frontEnd, store)]).toEqual([store, figures]);
    } finally {
      await cluster.close();
    }
  },
  240_000,
);
