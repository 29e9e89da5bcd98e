import { setTimeout as pause } from 'node:timers/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { openStallingProxy } from '../../postgresql/stalling-proxy.js';
import { openBatches, type BatchWorld } from '../../services/personal/batch-world.js';
import { IS_SOAK } from '../../soak.js';
import { startWorkerProcess } from '../process.js';
import { openCluster } from './running-cluster.js';

const ACCOUNTS = 1500;
const LEASE_S = 5;
const AWAY_MS = 9000;
/** Position of the account that a separate batch also computes. */
const REPEATED_SUBMISSION = 17;
const TERMS = { whole_shares: true };
const SHARES_AT_FAULT = { kill: 0.1, partition: 0.3 };

async function runBatches(world: BatchWorld, faults: (jobId: string) => Promise<void>) {
  const accounts = world.createAccounts(ACCOUNTS, (i) => (i % 3 === 0 ? { tax: { lot_method: 'fifo' } } : {}));
  const jobId = await world.start('all', accounts, TERMS);
  await faults(jobId);
  const { status, error } = await world.service.waitForJob(jobId);
  expect([status, error]).toEqual(['succeeded', null]);
  const results = await world.readResults('all');
  expect(results.map(({ account_id }) => account_id)).toEqual(accounts.map(({ account_id }) => account_id));
  await world.batch('again', [accounts[REPEATED_SUBMISSION]], TERMS);
  expect(await world.readResults('again')).toEqual([results[REPEATED_SUBMISSION]]);
  return results;
}

async function runEmbedded() {
  const world = await openBatches();
  try {
    return await runBatches(world, async () => {});
  } finally {
    await world.service.close();
  }
}

/**
 * Returns the results of a cluster of several nodes. The first node loses its database for longer than a lease. Another
 * node is killed and replaced.
 */
async function runOnNodes(count: number) {
  const cluster = await openCluster({ DIVISOR_LEASE: String(LEASE_S) });
  const base = await mkdtemp(join(tmpdir(), 'divisor-cut-off-'));
  const proxy = await openStallingProxy(cluster.url);
  const flags = ['--workers', '1', '--drain-ms', '0'];
  const cutOff = await startWorkerProcess(join(base, 'home'), flags, {
    ...cluster.environment,
    DATABASE_URL: proxy.url,
  });
  try {
    const otherWorkers = await Promise.all(Array.from({ length: count - 1 }, cluster.startWorker));
    const world = await openBatches(undefined, cluster.frontEnd);

    async function waitForShare(jobId: string, share: number): Promise<void> {
      for (;;) {
        const { body } = await world.service.ask<JobStatus>('GET', `/jobs/${jobId}`);
        if (body.progress >= share || !['pending', 'running'].includes(body.status)) break;
        await pause(20);
      }
    }

    return await runBatches(world, async (jobId) => {
      await waitForShare(jobId, SHARES_AT_FAULT.kill);
      if (otherWorkers.length > 0) {
        otherWorkers[0]!.child.kill('SIGKILL');
        await cluster.startWorker();
      }
      await waitForShare(jobId, SHARES_AT_FAULT.partition);
      proxy.stall();
      await pause(AWAY_MS);
      proxy.pass();
    });
  } finally {
    cutOff.child.kill('SIGKILL');
    await cutOff.ended;
    await proxy.close();
    await cluster.close();
    await rm(base, { recursive: true, force: true });
  }
}

test.skipIf(!IS_SOAK || !hasPostgresql)(
  'results of accounts are bit-identical on 1, 2 and 4 nodes, of which one loses its database and one is killed',
  async () => {
    const expected = await runEmbedded();
    for (const nodes of [1, 2, 4]) expect(await runOnNodes(nodes), `${nodes} nodes`).toEqual(expected);
  },
  1_800_000,
);
