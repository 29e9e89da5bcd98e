import { LIMITS } from '#domain/limits.js';
import type { ErrorDetail } from '#domain/refusal.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { indexBody, loadedService, type LoadedService } from './loaded-service.js';

/** What one key may take of a service, and that another's share is left alone. */
let service: LoadedService;
beforeAll(async () => {
  service = await loadedService(['--workers', '1']);
  await service.ask('POST', '/data/synthetic', { store_id: 'market', seed: 7, assets: 20, start: '2020-01-02', end: '2023-12-29' });
  expect((await service.finished('generate:market')).error).toBeNull();
  await service.ask('PUT', '/indices/ONE', { ...indexBody('ONE'), base_date: '2020-01-02' });
  await service.ask('POST', '/analytics/ONE/backtest', {});
  expect((await service.finished('backtest:ONE')).error).toBeNull();
}, 60_000);
afterAll(() => service?.close(), 60_000);

interface Refused {
  readonly error: ErrorDetail;
}

test('a key has a hundred jobs waiting; more are told to come back, and another key is let in', async () => {
  const [first, second] = service.keys;
  await service.ask('POST', '/analytics/ONE/simulate', { horizon: 750, paths: 1_000_000 }, second);
  while ((await service.ask('GET', '/jobs/simulate:ONE')).body.status !== 'running') await new Promise((resolve) => setTimeout(resolve, 5));
  const body = { index_id: 'ONE', start: '2023-11-01' };
  const answers = await Promise.all(Array.from({ length: 150 }, (_, i) => service.ask<Refused>('POST', `/risk-models/m${i}/estimate`, body, first)));
  const refused = answers.filter(({ status }) => status !== 202);
  expect(answers.length - refused.length).toBe(LIMITS.MAX_KEY_QUEUED_JOBS);
  for (const { status, retryAfter, body: { error } } of refused) expect([status, error.code, Number(retryAfter) > 0, error.detail]).toEqual([429, 'RATE_LIMITED', true, { queued: 100, limit: 100 }]);
  // The same work again is the job that waits already, not one more.
  expect((await service.ask('POST', '/risk-models/m0/estimate', body, first)).status).toBe(202);
  expect((await service.ask('POST', '/risk-models/other/estimate', body, second)).status).toBe(202);
  await service.ask('DELETE', '/jobs/simulate:ONE');
  for (let i = 0; i < 150; i++) if (answers[i]!.status === 202) expect((await service.finished(`risk:m${i}`)).status).toBe('succeeded');
  expect((await service.ask('POST', '/risk-models/again/estimate', body, first)).status).toBe(202);
  expect((await service.finished('risk:again')).status).toBe('succeeded');
}, 120_000);

test('a key that asks without end is told to come back, whatever it asks for; another, and the probes, are answered', async () => {
  const [first, second] = service.keys;
  const statuses = new Map<number, number>();
  let told: { readonly retryAfter: string | undefined; readonly body: Refused } | undefined;
  const client = async (): Promise<void> => {
    while (told === undefined) {
      const answer = await service.ask<Refused>('GET', '/jobs/backtest:NOBODY', undefined, first);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status === 429) told = answer;
    }
  };
  const client404 = 64;
  const began = performance.now();
  // A machine that answers fewer than the rate never meets the limit: then the test has nothing to see.
  const isTooSlow = new Promise<void>((resolve) => setTimeout(resolve, 45_000).unref());
  await Promise.race([Promise.all(Array.from({ length: client404 }, client)), isTooSlow]);
  const seconds = (performance.now() - began) / 1000;
  const answered = statuses.get(404) ?? 0;
  if (told === undefined) {
    told = { retryAfter: '', body: { error: { code: 'INTERNAL', message: '', detail: null } } };
    console.log(`The limit of requests was not met: the machine answered ${answered} in ${seconds.toFixed(0)} s.`);
    return;
  }
  expect(told.body.error).toMatchObject({ code: 'RATE_LIMITED', detail: { requests_per_second: LIMITS.MAX_KEY_REQUESTS_PER_SECOND, burst: LIMITS.MAX_KEY_REQUEST_BURST } });
  expect(Number(told.retryAfter)).toBeGreaterThan(0);
  expect(answered).toBeGreaterThan(LIMITS.MAX_KEY_REQUEST_BURST * 0.9);
  expect(answered).toBeLessThan(LIMITS.MAX_KEY_REQUEST_BURST + LIMITS.MAX_KEY_REQUESTS_PER_SECOND * (seconds + 1) + client404);
  expect((await service.ask('GET', '/indices', undefined, second)).status).toBe(200);
  expect((await service.ask('GET', '/health', undefined, first)).status).toBe(200);
  console.log(`${answered} requests of one key in ${seconds.toFixed(1)} s, then 429`);
}, 90_000);
