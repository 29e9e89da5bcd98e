import { LIMITS } from '#domain/base/limits.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createIndexBody, startLoadedService, type LoadedService } from './loaded-service.js';
import { IS_SOAK } from '../soak.js';

/** Service with limits per key. When a key reaches its limit, other keys must not be affected. */
let service: LoadedService;
beforeAll(async () => {
  service = await startLoadedService(['--workers', '1']);
  await service.ask('POST', '/data/synthetic', {
    store_id: 'market',
    seed: 7,
    assets: 20,
    start: '2020-01-02',
    end: '2023-12-29',
  });
  expect((await service.waitForJob('generate:market')).error).toBeNull();
  await service.ask('PUT', '/indices/ONE', { ...createIndexBody('ONE'), base_date: '2020-01-02' });
  await service.ask('POST', '/analytics/ONE/backtest', {});
  expect((await service.waitForJob('backtest:ONE')).error).toBeNull();
});
afterAll(() => service?.close());

/** Number of waiting jobs of a key that are computed until they end. */
const DONE_COUNT = 10;

interface RefusalBody {
  readonly error: ErrorDetail;
}

test('a key has up to a hundred waiting jobs; more are refused with Retry-After, and another key is accepted', async () => {
  const [first, second] = service.keys;
  await service.ask('POST', '/analytics/ONE/simulate', { horizon: 750, paths: 1_000_000 }, second);
  while ((await service.ask('GET', '/jobs/simulate:ONE')).body.status !== 'running')
    await new Promise((resolve) => setTimeout(resolve, 5));
  const body = { index_id: 'ONE', start: '2023-11-01' };
  const answers = await Promise.all(
    Array.from({ length: 150 }, (_, i) => service.ask<RefusalBody>('POST', `/risk-models/m${i}/estimate`, body, first)),
  );
  const refusals = answers.filter(({ status }) => status !== 202);
  expect(answers.length - refusals.length).toBe(LIMITS.MAX_KEY_QUEUED_JOBS);
  for (const {
    status,
    retryAfter,
    body: { error },
  } of refusals)
    expect([status, error.code, Number(retryAfter) > 0, error.detail]).toEqual([
      429,
      'RATE_LIMITED',
      true,
      { queued: 100, limit: 100 },
    ]);
  // If equal work is submitted, the waiting job is returned. No other job is created.
  expect((await service.ask('POST', '/risk-models/m0/estimate', body, first)).status).toBe(202);
  expect((await service.ask('POST', '/risk-models/other/estimate', body, second)).status).toBe(202);
  // A few waiting jobs are computed until they end. In the soak, all are.
  const acceptedIds = [...answers.keys()].filter((i) => answers[i]!.status === 202).map((i) => `risk:m${i}`);
  const doneJobs = IS_SOAK ? acceptedIds : acceptedIds.slice(-DONE_COUNT);
  for (const jobId of acceptedIds) if (!doneJobs.includes(jobId)) await service.ask('DELETE', `/jobs/${jobId}`);
  await service.ask('DELETE', '/jobs/simulate:ONE');
  for (const jobId of acceptedIds)
    expect((await service.waitForJob(jobId)).status).toBe(doneJobs.includes(jobId) ? 'succeeded' : 'cancelled');
  expect((await service.ask('POST', '/risk-models/again/estimate', body, first)).status).toBe(202);
  expect((await service.waitForJob('risk:again')).status).toBe('succeeded');
});
