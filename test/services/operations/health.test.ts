import { setTimeout } from 'node:timers/promises';
import type { Scope } from '#contract/route.js';
import { expect, test } from 'vitest';
import { Health } from '#contract/service.js';
import { createHealthHandlers } from '#http/routes.js';
import { Refusal } from '#domain/base/refusals.js';
import { LIMITS } from '#domain/base/limits.js';
import { type PartCheck, createHealth } from '#services/shared/service.js';
import { createTestContext } from '../context.js';

function createService(
  checks: readonly PartCheck[],
  {
    active = 'main' as string | null,
    draining = false,
    outage = { is: false },
    storeMs = 0,
    freshness = [] as Health['freshness'],
  } = {},
) {
  const context = createTestContext({
    engineVersion: '1.0.0',
    jobs: {
      async counts() {
        if (outage.is) throw new Refusal('STORE_UNAVAILABLE', 'The database cannot be reached.');
        return { pending: 2, running: 1 };
      },
      lanes: async () => ({
        heavy: { waiting: 2, running: 1, places: 4, oldestSeconds: 1.5 },
        huge: { waiting: 1, running: 0, places: 2, oldestSeconds: 9 },
        light: { waiting: 0, running: 0, places: 4, oldestSeconds: null },
      }),
    },
  });
  return createHealth(context, {
    build: null,
    startedAt: new Date('2026-11-20T03:05:40.123Z'),
    monotonic: () => 0,
    draining: () => draining,
    store: async () => {
      if (storeMs > 0) await setTimeout(storeMs);
      return {
        active,
        status: active === null ? null : 'ready',
        end: active === null ? null : '2026-11-19',
        partial_dates: active === null ? null : { total: 0, latest: [] },
      };
    },
    freshness: async () => freshness,
    isReachable: () => true,
    checks,
  });
}

const passingCheck: PartCheck = { name: 'store', look: () => undefined };
const failingCheck: PartCheck = {
  name: 'disk',
  look: () => '3 MiB are free; 256 MiB are needed.',
  unready: 'STORAGE_FULL',
};
const oddCheck: PartCheck = { name: 'calendar', look: () => 'Old.' };

test('health is ok with a served store and passing checks', async () => {
  const health = await createService([passingCheck]).health();
  expect(health.reason).toBeNull();
  expect([health.status, health.started_at]).toEqual(['ok', '2026-11-20T03:05:40.123000+00:00']);
  expect(health.checks).toEqual([{ name: 'store', ok: true, warning: false, message: null }]);
});

test('health is answered while documents and jobs cannot be read, with the last values', async () => {
  const outage = { is: true };
  const brokenCheck: PartCheck = { name: 'database', look: () => (outage.is ? 'Gone.' : undefined) };
  const { health } = createService([brokenCheck], { outage });
  expect(await health()).toMatchObject({ status: 'degraded', jobs: { pending: 0 }, store: { active: 'main' } });
  outage.is = false;
  const before = await health();
  outage.is = true;
  expect(await health()).toEqual({
    ...before,
    status: 'degraded',
    reason: 'Checks that fail: database.',
    checks: [{ name: 'database', ok: false, warning: false, message: 'Gone.' }],
    states: expect.any(Array),
  });
});

test('health lists the latest 20 changes of its state with their causes', async () => {
  const outage = { is: false };
  const freeSpace = { mib: 3 };
  const disk: PartCheck = { name: 'disk', look: () => (outage.is ? `${freeSpace.mib} MiB are free.` : undefined) };
  const { look, health } = createService([disk]);
  for (let change = 0; change < 12; change++) {
    outage.is = change % 2 === 1;
    freeSpace.mib = change;
    await look();
    await look();
  }
  const { states } = await health();
  const [since, ok] = [expect.stringMatching(/^2026-11-20T03:05:40/), { status: 'ok', reason: null }];
  expect(states).toHaveLength(12);
  expect(states.slice(-2)).toEqual([
    { since, ...ok },
    { since, status: 'degraded', reason: 'Checks that fail: disk. 11 MiB are free.' },
  ]);
  for (let change = 0; change < 12; change++) {
    outage.is = change % 2 === 0;
    await look();
  }
  await new Promise((resolve) => setImmediate(resolve)); // callers within one turn of the event loop share a response
  const laterStates = (await health()).states;
  expect([laterStates.length, laterStates.at(-1)]).toEqual([20, { since, ...ok }]);
});

test('the last values of jobs remain while the store is slow', async () => {
  const slowService = createService([passingCheck], { storeMs: 5 });
  expect(await slowService.health()).toMatchObject({ jobs: { pending: 2, running: 1 }, store: { active: 'main' } });
});

test('callers of the same turn get the same answer, later callers another', async () => {
  const { health } = createService([passingCheck]);
  const [firstAnswer, secondAnswer] = await Promise.all([health(), health()]);
  expect(secondAnswer).toBe(firstAnswer);
  expect(health()).toBe(firstAnswer);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await health()).not.toBe(firstAnswer);
});

test('health reports the jobs and the store as of the last read of each', async () => {
  const outage = { is: false };
  const { look, health } = createService([passingCheck], { outage });
  await look();
  outage.is = true;
  expect(await health()).toMatchObject({
    jobs: { pending: 2, lanes: { heavy: { places: 4 } } },
    store: { active: 'main' },
  });
  const laterService = createService([passingCheck], { outage });
  expect(await laterService.health()).toMatchObject({ jobs: { pending: 0 }, store: { active: 'main' } });
});

/** Returns the part of a request that both handlers read. */
const createReadPrincipal = (scopes: readonly Scope[]) =>
  ({ principal: { keyId: null, name: null, scopes: new Set(scopes) } }) as never;

test('the answer of health states every limit', async () => {
  const { getHealth } = createHealthHandlers(createService([passingCheck]));
  const { json: answer } = await getHealth(createReadPrincipal(['read']));
  expect(Health.parse(answer)).toEqual(answer);
  expect(answer).toHaveProperty('limits', LIMITS);
});

test('an unknown client receives only the version', async () => {
  const { getHealth, getReadiness } = createHealthHandlers(createService([passingCheck]));
  expect(await getHealth(createReadPrincipal([]))).toEqual({ json: { status: 'live', version: expect.any(String) } });
  expect(await getReadiness(createReadPrincipal([]))).toEqual({ json: { status: 'ready', checks: [] } });
  expect(await getReadiness(createReadPrincipal(['run']))).toMatchObject({ json: { checks: [{ ok: true }] } });
});

test('health is degraded without a served store, or with a failing check', async () => {
  expect(await createService([passingCheck], { active: null }).health()).toMatchObject({
    status: 'degraded',
    reason: 'No data store is active.',
  });
  expect(await createService([passingCheck, oddCheck]).health()).toMatchObject({
    status: 'degraded',
    reason: 'Checks that fail: calendar.',
  });
});

test('a warning leaves the service ok and ready, and replaces the details of the check', async () => {
  const freshness = [
    { store_id: 'us', calendar: 'XNYS', data_through: '2026-11-18', latest_session: '2026-11-19', sessions_behind: 1 },
  ];
  const data: PartCheck = {
    name: 'data',
    unready: 'STORE_UNAVAILABLE',
    look: () => undefined,
    note: () => 'No data store is loading.',
    warn: (stores) => (stores.length === 0 ? undefined : `${stores[0]!.store_id} is late.`),
  };
  const { health, readiness } = createService([data], { freshness });
  expect(readiness()).toEqual([{ name: 'data', ok: true, warning: false, message: 'No data store is loading.' }]);
  const checks = [{ name: 'data', ok: true, warning: true, message: 'us is late.' }];
  expect(await health()).toMatchObject({ status: 'ok', reason: null, freshness, checks });
  expect(readiness()).toEqual(checks);
});

test('a failing check makes the service unready only if it is declared so', () => {
  expect(createService([passingCheck, oddCheck]).readiness()).toHaveLength(2);
  expect(() => createService([passingCheck, failingCheck]).readiness()).toThrow('The check disk fails: 3 MiB are free');
  expect(() => createService([passingCheck], { draining: true }).readiness()).toThrow('stopping');
});
