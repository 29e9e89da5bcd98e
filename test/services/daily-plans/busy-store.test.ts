import { expect, test } from 'vitest';
import { type ErrorCode, Refusal } from '#domain/base/refusals.js';
import { createRefreshPerformer, type StepContext, type StepServices } from '#services/daily-plans/steps.js';
import type { StepOf } from '#domain/outputs/daily-plans.js';

const DATE = '2024-01-02';
const DAY = 19_724;

/** Performs the step on a store that is busy until the job in progress, if any, has ended. */
async function performOnBusyStore(code: ErrorCode, detail: Record<string, unknown>, busyJob?: string) {
  const polls = new Map<string, number>();
  let submissions = 0;
  const isBusy = () => (busyJob === undefined ? submissions < 2 : (polls.get(busyJob) ?? 0) < 3);
  const sync = async () => {
    submissions += 1;
    if (isBusy()) throw new Refusal(code, 'The store is busy.', detail);
    return { job_id: 'sync:desk' };
  };
  const served = { market: { dates: Int32Array.of(DAY) } };
  const services = {
    datasets: { sync },
    stores: {},
    jobs: {
      async get(jobId: string) {
        const count = (polls.get(jobId) ?? 0) + 1;
        polls.set(jobId, count);
        if (jobId === 'sync:desk' && submissions > 0 && !isBusy()) return { status: 'succeeded', result: null };
        return jobId === busyJob ? { status: count < 3 ? 'running' : 'succeeded' } : undefined;
      },
    },
    markets: { settled: async () => {}, require: () => served },
    follow: async () => {},
  } as unknown as StepServices;
  const context = {
    spec: { type: 'refresh', fail_on: [] },
    day: () => ({ date: DATE, steps: [] }),
    put: async () => {},
    origin: null,
    signal: new AbortController().signal,
  } as unknown as StepContext<StepOf<'refresh'>>;
  return createRefreshPerformer(services)(context);
}

test.for([
  ['STORE_REFRESHING', { store_id: 'desk' }, 'refresh:desk'],
  ['STORE_LOADING', { store_id: 'other' }, 'load:other'],
  ['JOB_RUNNING', { job_id: 'sync:other' }, 'sync:other'],
  ['STORE_LOADING', { store_id: 'desk' }, undefined],
] as const)('the refresh of a day waits for a store that answers %s, with %o', async ([code, detail, job]) => {
  expect(await performOnBusyStore(code, detail, job)).toMatchObject({ state: 'done' });
});
