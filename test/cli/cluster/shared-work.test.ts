import { afterAll, beforeAll, describe } from 'vitest';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { IS_SOAK } from '../../soak.js';
import { openCluster, prepare, type RunningCluster } from './running-cluster.js';
import { describeReruns } from './shared-work/reruns.js';
import type { SharedWork } from './shared-work/shared-work.js';
import { describeSweeps } from './shared-work/sweeps.js';

if (!IS_SOAK)
  console.log('skipped: kills of workers that share work, as they take half a minute; npm run soak has them');

/** Lease of a worker in seconds. It is short only in the soak, which kills workers and must notice this soon. */
const LEASE_S = IS_SOAK ? 5 : 60;

describe.skipIf(!hasPostgresql)('work in parts', () => {
  let cluster: RunningCluster;
  const work: SharedWork = { cluster: () => cluster, workers: [] };
  beforeAll(async () => {
    cluster = await openCluster({ DIVISOR_LEASE: String(LEASE_S) });
    work.workers = await Promise.all([cluster.startWorker(), cluster.startWorker()]);
    await prepare(cluster.frontEnd, []);
  });
  afterAll(() => cluster?.close());

  describeSweeps(work);
  describeReruns(work);
});
