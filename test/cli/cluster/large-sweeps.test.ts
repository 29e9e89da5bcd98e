import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { runService, type RunningService } from '../../services/running-service.js';
import { IS_SOAK } from '../../soak.js';
import { INDEX } from '../even-index.js';
import type { ListeningProcess } from '../process.js';
import { openCluster, prepare, type RunningCluster } from './running-cluster.js';

if (!IS_SOAK)
  console.log(
    'skipped: kills of workers during a sweep of 100,000 variants, as it takes half an hour; SWEEP_VARIANTS sets another number',
  );

const VARIANTS = Number(process.env['SWEEP_VARIANTS'] ?? 100_000);
const WORKERS = Number(process.env['SWEEP_WORKERS'] ?? 4);
const KILLS = Number(process.env['SWEEP_KILLS'] ?? 10);
const LEASE_S = 5;
const COSTS = 100;
/** Maximum number of lost attempts of a job. It is above the number of kills. */
const LOSSES_MAX = 100;

const SWEEP = {
  sweep_id: 'large',
  document: { ...INDEX, pipeline: { weighting: { type: 'MarketCapWeight', cap: 0.4 } } },
  partitions: 16,
  folds: { method: 'combinatorial', groups: 6 },
  grid: {
    '/document/pipeline/weighting/cap': Array.from({ length: VARIANTS / COSTS }, (_, i) => 0.3 + i / 8000),
    '/request/transaction_cost_bps': Array.from({ length: COSTS }, (_, i) => i),
  },
};

/** Returns one hash over all blocks of a sweep and its result. */
async function readDigest(service: RunningService): Promise<string> {
  const hash = createHash('sha256');
  const { status, error, result } = await service.waitForJob('sweep:large');
  expect([status, error]).toEqual(['succeeded', null]);
  hash.update(JSON.stringify(result));
  for (let page = 0; page < VARIANTS / 1000; page++) {
    const { body } = await service.ask('GET', `/analytics/sweeps/large/rows?block=${page}`);
    hash.update(JSON.stringify(body));
  }
  return hash.digest('hex');
}

describe.skipIf(!hasPostgresql || !IS_SOAK)('a sweep of 100,000 variants on several workers', () => {
  let cluster: RunningCluster;
  let expected: string;
  let workers: ListeningProcess[] = [];
  beforeAll(async () => {
    const embeddedService = await runService(['--workers', '2']);
    await prepare(embeddedService, []);
    const startMs = performance.now();
    await embeddedService.ask('POST', '/analytics/sweeps', SWEEP);
    expected = await readDigest(embeddedService);
    console.log(`one process: ${Math.round((performance.now() - startMs) / 1000)} s`);
    await embeddedService.close();
    cluster = await openCluster({ DIVISOR_LEASE: String(LEASE_S), DIVISOR_JOB_RETRIES: `losses=${LOSSES_MAX}` });
    workers = await Promise.all(Array.from({ length: WORKERS }, () => cluster.startWorker()));
    await prepare(cluster.frontEnd, []);
  });
  afterAll(() => cluster?.close());

  test('is bit-identical to a sweep in one process after its workers are killed, and leaves no partial result', async () => {
    const startMs = performance.now();
    await cluster.frontEnd.ask('POST', '/analytics/sweeps', SWEEP);
    let kills = 0;
    let progress = 0;
    while (kills < KILLS) {
      const { body } = await cluster.frontEnd.ask<{ status: string; progress: number }>(
        'GET',
        '/jobs/sweep:large?wait=0.5',
      );
      if (body.status === 'succeeded') break;
      progress = Math.max(progress, body.progress);
      // Workers are killed at equal steps of progress. So attempts advance between two kills.
      if (progress < (kills + 0.5) / (KILLS + 1)) continue;
      const killedWorker = workers[kills % workers.length]!;
      killedWorker.child.kill('SIGKILL');
      await killedWorker.ended;
      kills++;
      workers = [...workers.filter((worker) => worker !== killedWorker), await cluster.startWorker()];
    }
    expect(await readDigest(cluster.frontEnd)).toBe(expected);
    const { attempt, crashes, losses } = await cluster.row('sweep:large');
    console.log(
      `${WORKERS} workers, ${kills} kills: ${Math.round((performance.now() - startMs) / 1000)} s, ${attempt} attempts, ${losses} lost`,
    );
    expect(kills).toBe(KILLS);
    expect(crashes).toBe(0);
    expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
    const [input] = await cluster.query('SELECT FROM divisor.documents WHERE kind = $1 AND id = $2', [
      'job-input',
      'sweep:large',
    ]);
    expect(input).toBeUndefined();
  });
});
