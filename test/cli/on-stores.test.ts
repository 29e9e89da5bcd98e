import { expect, test } from 'vitest';
import { addStoreOfCall } from '#services/stores/serving.js';
import type { JobSystem } from '#jobs/port/job-kind.js';
import { onMarket, type ServedMarket } from '#market/serve/served-markets.js';

const market = (datasetId: string) => ({ identity: { datasetId } }) as ServedMarket;

/** Returns the payloads that reach the queue. */
function openJobs(active: string | undefined) {
  const payloads: unknown[] = [];
  const queue = { submit: async ({ payload }: { payload: unknown }) => void payloads.push(payload) };
  const served = () => (active === undefined ? undefined : market(active));
  return { payloads, jobs: addStoreOfCall(queue as unknown as JobSystem, { served }) };
}

const submit = (jobs: JobSystem, payload: object) =>
  jobs.submit({ payload, request: {} } as unknown as Parameters<JobSystem['submit']>[0]);

test('a job keeps the store of its call, else that of its payload, else the store that is active at its submission', async () => {
  const { payloads, jobs } = openJobs('active');
  await submit(jobs, { id: 1 });
  await submit(jobs, { id: 2, on_store: 'of-index' });
  await onMarket(market('of-call'), () => submit(jobs, { id: 3 }));
  expect(payloads).toEqual([
    { id: 1, on_store: 'active' },
    { id: 2, on_store: 'of-index' },
    { id: 3, on_store: 'of-call' },
  ]);
});

test('a job that is submitted while no store is active has no store', async () => {
  const { payloads, jobs } = openJobs(undefined);
  await submit(jobs, { id: 1 });
  expect(payloads).toEqual([{ id: 1 }]);
});
