import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BatchView } from '#contract/batches.js';
import type { JobStatus } from '#jobs/status.js';
import { openBatches, type BatchWorld } from './batch-world.js';

/** Time in which a cancelled batch gives its thread back. */
const BACK_MS = 2500;
/** Accounts of a batch that lasts until it is interrupted. */
const MANY = 160;

let world: BatchWorld;
beforeAll(async () => {
  world = await openBatches();
});
afterAll(() => world?.service.close());

/** Resolves once some of the accounts are solved. @returns the state of the job */
async function inTheMiddle(jobId: string): Promise<JobStatus> {
  for (;;) {
    const { body } = await world.service.ask<JobStatus>('GET', `/jobs/${jobId}`);
    if (body.status !== 'pending' && (body.status !== 'running' || body.progress > 0.2)) return body;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('a batch that is interrupted', () => {
  test('continues after the node ends in its middle, and has every account once', async () => {
    const accounts = world.accountsOf(MANY);
    const jobId = await world.start('away', accounts, { whole_shares: true });
    expect(await inTheMiddle(jobId)).toMatchObject({ status: 'running', attempt: 1 });
    await world.service.restart();
    const { status, error, attempt, result } = await world.service.finished(jobId);
    expect([status, error, attempt]).toEqual(['succeeded', null, 2]);
    expect((result as BatchView).accounts).toBe(MANY);
    const results = await world.resultsOf('away');
    expect(results.map(({ account_id }) => account_id)).toEqual(accounts.map(({ account_id }) => account_id));
    await world.batch('whole', accounts, { whole_shares: true });
    expect(await world.resultsOf('whole')).toEqual(results);
  });

  test('gives its thread back within 2.5 s when it is cancelled', async () => {
    const [one] = world.accountsOf(1);
    const jobId = await world.start('cancelled', world.accountsOf(MANY), { whole_shares: true });
    expect((await inTheMiddle(jobId)).status).toBe('running');
    const start = performance.now();
    const { body } = await world.service.ask<JobStatus>('DELETE', `/jobs/${jobId}`);
    expect(body.status).toBe('cancelled');
    await world.batch('next', [one]); // The service has one thread for jobs.
    expect(performance.now() - start).toBeLessThan(BACK_MS);
    const { status } = await world.service.ask('GET', '/optimise/batches/cancelled/accounts?block=0');
    expect(status).toBe(404);
  });
});
