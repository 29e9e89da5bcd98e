import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BatchView } from '#contract/batches.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { IS_SOAK } from '../../soak.js';
import { openBatches, type BatchWorld } from './batch-world.js';

/** Maximum time in ms until the thread of a cancelled batch is free, on an idle machine. */
const BACK_MS = 2500;
/** Number of accounts in a batch. It is large enough for the batch to be running still when it is interrupted. */
const ACCOUNT_COUNT = IS_SOAK ? 160 : 96;
/** Number of accounts in a long batch. It takes twenty times as long as its first part. */
const LONG_ACCOUNT_COUNT = 640;

let world: BatchWorld;
beforeAll(async () => {
  world = await openBatches();
});
afterAll(() => world?.service.close());

/** Resolves after a share of the accounts is solved. @returns the state of the job */
async function waitForProgress(jobId: string, share = 0.2): Promise<JobStatus> {
  for (;;) {
    const { body } = await world.service.ask<JobStatus>('GET', `/jobs/${jobId}`);
    if (body.status !== 'pending' && (body.status !== 'running' || body.progress > share)) return body;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('an interrupted batch', () => {
  test('continues after its node ends in the middle, and has every account once', async () => {
    const accounts = world.createAccounts(ACCOUNT_COUNT);
    const jobId = await world.start('away', accounts, { whole_shares: true });
    expect(await waitForProgress(jobId)).toMatchObject({ status: 'running', attempt: 1 });
    await world.service.restart(undefined, 'new');
    const { status, error, attempt, result } = await world.service.waitForJob(jobId);
    expect([status, error, attempt]).toEqual(['succeeded', null, 2]);
    expect((result as BatchView).accounts).toBe(ACCOUNT_COUNT);
    const results = await world.readResults('away');
    expect(results.map(({ account_id }) => account_id)).toEqual(accounts.map(({ account_id }) => account_id));
    await world.batch('whole', accounts, { whole_shares: true });
    expect(await world.readResults('whole')).toEqual(results);
  });

  test('releases its thread long before its end when it is cancelled', async () => {
    const [one] = world.createAccounts(1);
    const accounts = world.createAccounts(LONG_ACCOUNT_COUNT);
    const startMs = performance.now();
    const jobId = await world.start('cancelled', accounts, { whole_shares: true });
    expect((await waitForProgress(jobId, 0.05)).status).toBe('running');
    const firstPartMs = performance.now() - startMs;
    const start = performance.now();
    const { body } = await world.service.ask<JobStatus>('DELETE', `/jobs/${jobId}`);
    expect(body.status).toBe('cancelled');
    await world.batch('next', [one]); // the service has one thread for jobs
    expect(performance.now() - start).toBeLessThan(IS_SOAK ? BACK_MS : Math.max(BACK_MS, 5 * firstPartMs));
    const { status } = await world.service.ask('GET', '/optimise/batches/cancelled/accounts?block=0');
    expect(status).toBe(404);
  });
});
