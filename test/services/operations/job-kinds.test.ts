import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Scope } from '#contract/route.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { issueKey } from '#services/keys/keys.js';
import { runService, type RunningService } from '../running-service.js';

const givenKeys: string[] = [];
function createKey(name: string, scopes: readonly Scope[]): { readonly 'X-API-Key': string } {
  const { key, record } = issueKey({ name, scopes, expires: null }, Date.now());
  givenKeys.push(`${name}:${record.id}:${record.sha256}:${scopes.join('+')}`);
  return { 'X-API-Key': key };
}
const operator = createKey('operator', ['admin']);
const desk = createKey('desk', ['read', 'run', 'data']);

let service: RunningService;
beforeAll(async () => void (service = await runService([], { DIVISOR_API_KEYS: givenKeys.join(',') })));
afterAll(() => service.close());

const generate = (id: string, query: string, key: object) =>
  service.ask<JobStatus>(
    'POST',
    `/data/synthetic${query}`,
    { store_id: id, assets: 2, start: '2021-01-04', end: '2021-03-31', activate: false },
    { ...key },
  );

test('jobs of a paused kind wait, across a restart too, until an operator resumes the kind', async () => {
  const pausing = await service.ask('POST', '/jobs/kinds/generate/pause', { reason: 'move' }, operator);
  expect(pausing).toMatchObject({
    status: 200,
    body: { lane: 'light', pause: { author: 'operator', reason: 'move' } },
  });
  expect((await generate('one', '', desk)).body).toMatchObject({ status: 'pending', priority: 'normal' });
  const readStatus = async () =>
    (await service.ask<JobStatus>('GET', '/jobs/generate:one', undefined, desk)).body.status;
  await service.restart();
  expect(await readStatus()).toBe('pending');
  expect((await service.ask('GET', '/jobs/kinds', undefined, desk)).body['kinds']).toContainEqual(
    expect.objectContaining({ kind: 'generate', pause: expect.objectContaining({ reason: 'move' }) }),
  );
  expect((await service.ask('POST', '/jobs/kinds/generate/resume', undefined, operator)).body['pause']).toBeNull();
  expect((await service.waitForJob('generate:one', desk)).status).toBe('succeeded');
});

test('a key without the scope admin neither pauses a kind nor submits jobs of high priority', async () => {
  const refusal = { status: 403, body: { error: { code: 'FORBIDDEN_SCOPE' } } };
  expect(await service.ask('POST', '/jobs/kinds/sweep/pause', {}, desk)).toMatchObject(refusal);
  expect(await generate('two', '?priority=high', desk)).toMatchObject(refusal);
  expect(await generate('two', '?priority=low', desk)).toMatchObject({ status: 202, body: { priority: 'low' } });
  expect(await generate('three', '?priority=high', operator)).toMatchObject({
    status: 202,
    body: { priority: 'high' },
  });
  expect((await generate('four', '?priority=urgent', desk)).status).toBe(422);
  for (const id of ['two', 'three']) await service.waitForJob(`generate:${id}`, desk);
});
