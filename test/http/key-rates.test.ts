import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createKeyRates, createKeyTurns } from '#services/keys/access.js';
import { createSample } from './sample-app.js';

test('a key has a burst, then its rate, and does not use the rate of another key', () => {
  let now = 1000;
  const rates = createKeyRates({ monotonicMs: () => now, perSecond: 10, burst: 5 });
  const countAccepted = (key: string): number => {
    for (let count = 0; ; count++) {
      try {
        rates.take(key);
      } catch (refusal) {
        expect(refusal).toMatchObject({ code: 'RATE_LIMITED', detail: { requests_per_second: 10, burst: 5 } });
        return count;
      }
    }
  };
  expect([countAccepted('a'), countAccepted('a'), countAccepted('b')]).toEqual([5, 0, 5]);
  now += 200;
  expect([countAccepted('a'), countAccepted('a')]).toEqual([2, 0]);
  now += 3_600_000;
  expect(countAccepted('a')).toBe(5);
});

test('a key beyond its rate is refused with Retry-After on every route; another key, and open routes, are answered', async () => {
  const { send } = createSample({ keyRates: createKeyRates({ monotonicMs: () => 0, perSecond: 1, burst: 3 }) });
  const statuses: number[] = [];
  for (const path of ['/things', '/things/one', '/nowhere', '/things', '/nowhere'])
    statuses.push((await send('GET', path, { scopes: 'read' })).status);
  expect(statuses).toEqual([200, 200, 404, 429, 429]);
  const refusal = await send('GET', '/things', { scopes: 'read' });
  const { error } = (await refusal.json()) as { readonly error: { readonly code: string } };
  expect([error.code, refusal.headers.get('retry-after')]).toEqual(['RATE_LIMITED', '2']);
  expect((await send('GET', '/things', { scopes: 'read+write' })).status).toBe(200);
  for (let i = 0; i < 10; i++) expect((await send('GET', '/live', { scopes: 'read' })).status).toBe(200);
});

test('a key starts one request per turn of the event loop, and another key starts at once', async () => {
  const awaitTurn = createKeyTurns();
  const started: string[] = [];
  const start = async (keyId: string, name: string): Promise<void> => {
    const turn = awaitTurn(keyId);
    if (turn !== undefined) await turn;
    started.push(name);
  };
  const all = [start('a', 'a1'), start('a', 'a2'), start('a', 'a3'), start('b', 'b1')];
  expect(started).toEqual(['a1', 'b1']);
  await setImmediate();
  expect(started).toEqual(['a1', 'b1', 'a2']);
  await Promise.all(all);
  expect(started).toEqual(['a1', 'b1', 'a2', 'a3']);
  await setImmediate();
  await setImmediate();
  expect(awaitTurn('a')).toBeUndefined();
});
