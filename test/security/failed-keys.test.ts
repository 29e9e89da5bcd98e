import { expect, test } from 'vitest';
import { createFailedKeys } from '#services/keys/access.js';
import { listen } from '#http/server.js';
import { createSample } from '../http/sample-app.js';

test('twenty wrong keys a minute are answered immediately, more after half a second, per address', () => {
  let now = 0;
  const failedKeys = createFailedKeys(() => now);
  const notes = Array.from({ length: 25 }, () => failedKeys.note('10.0.0.1'));
  expect(notes).toEqual([...Array.from({ length: 20 }, () => 0), 500, 500, 500, 500, 500]);
  expect(failedKeys.note('10.0.0.2')).toBe(0);
  now = 60_000;
  expect(failedKeys.note('10.0.0.1')).toBe(0);
});

test('ten thousand addresses are remembered, and the oldest are replaced', () => {
  const failedKeys = createFailedKeys(() => 0);
  for (let i = 0; i < 21; i++) failedKeys.note('first');
  expect(failedKeys.note('first')).toBe(500);
  for (let i = 0; i < 10_000; i++) failedKeys.note(`other ${i}`);
  expect(failedKeys.note('first')).toBe(0);
});

const GUESS = { authorization: 'Bearer wrong' };

/** Creates a service that delays failed attempts. The test decides when they continue. */
function createWaitingSample() {
  const waits: number[] = [];
  let releaseAttempt = () => {};
  const isOver = new Promise<void>((resolve) => (releaseAttempt = resolve));
  const { app } = createSample({
    delay(ms) {
      waits.push(ms);
      return isOver;
    },
  });
  return { app, waits, letGo: releaseAttempt };
}

test('wrong keys are delayed; valid keys and requests without a key are not', async () => {
  const { app, waits, letGo } = createWaitingSample();
  const ask = async (headers: Record<string, string>, address: string): Promise<number> =>
    (await app.fetch(new Request('http://localhost/things', { headers }), address)).status;
  for (let i = 0; i < 20; i++) expect(await ask(GUESS, '10.0.0.1')).toBe(401);
  expect(waits).toEqual([]);
  const guess = ask(GUESS, '10.0.0.1');
  const otherRequests = [
    await ask({ 'x-api-key': 'read' }, '10.0.0.1'),
    await ask({}, '10.0.0.1'),
    await ask(GUESS, '10.0.0.2'),
  ];
  expect([otherRequests, waits]).toEqual([[200, 401, 401], [500]]);
  letGo();
  expect(await guess).toBe(401);
});

test('over the wire the address is that of the socket', async () => {
  const { app, waits, letGo } = createWaitingSample();
  const server = await listen({ app, host: '127.0.0.1', port: 0 });
  const ask = async (headers: Record<string, string>) => {
    await (await fetch(`${server.url}/things`, { headers })).text();
  };
  for (let i = 0; i < 20; i++) await ask(GUESS);
  const guess = ask(GUESS);
  await ask({});
  letGo();
  await guess;
  expect(waits).toEqual([500]);
  await server.close(0);
});
