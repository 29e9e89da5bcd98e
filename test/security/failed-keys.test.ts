import { expect, test } from 'vitest';
import { createFailedKeys } from '#http/failed-keys.js';
import { listen } from '#http/server.js';
import { createSample } from '../http/sample-app.js';

test('twenty wrong keys of a minute are told at once, the others after half a second, address by address', () => {
  let now = 0;
  const failed = createFailedKeys(() => now);
  const notes = Array.from({ length: 25 }, () => failed.note('10.0.0.1'));
  expect(notes).toEqual([...Array.from({ length: 20 }, () => 0), 500, 500, 500, 500, 500]);
  expect(failed.note('10.0.0.2')).toBe(0);
  now = 60_000;
  expect(failed.note('10.0.0.1')).toBe(0);
});

test('ten thousand addresses are remembered, the oldest make room', () => {
  const failed = createFailedKeys(() => 0);
  for (let i = 0; i < 21; i++) failed.note('first');
  expect(failed.note('first')).toBe(500);
  for (let i = 0; i < 10_000; i++) failed.note(`other ${i}`);
  expect(failed.note('first')).toBe(0);
});

/** Milliseconds until the answer to a request with these headers, and its status. */
async function asked(app: ReturnType<typeof createSample>['app'], headers: Record<string, string>, address: string): Promise<readonly [number, number]> {
  const began = performance.now();
  const { status } = await app.fetch(new Request('http://localhost/things', { headers }), { address });
  return [status, performance.now() - began];
}

test('a guesser waits; a right key, and a request without any, never do', async () => {
  const { app } = createSample();
  for (let i = 0; i < 20; i++) expect((await asked(app, { authorization: 'Bearer wrong' }, '10.0.0.1'))[0]).toBe(401);
  const [status, ms] = await asked(app, { authorization: 'Bearer wrong' }, '10.0.0.1');
  expect(status).toBe(401);
  expect(ms).toBeGreaterThan(480);
  const others = [await asked(app, { 'x-api-key': 'read' }, '10.0.0.1'), await asked(app, {}, '10.0.0.1'), await asked(app, { authorization: 'Bearer wrong' }, '10.0.0.2')];
  expect(others.map(([code]) => code)).toEqual([200, 401, 401]);
  for (const [, waited] of others) expect(waited).toBeLessThan(400);
});

test('over the wire the address is the one of the socket', async () => {
  const server = await listen({ app: createSample().app, host: '127.0.0.1', port: 0 });
  const ask = async () => {
    const began = performance.now();
    const response = await fetch(`${server.url}/things`, { headers: { authorization: 'Bearer wrong' } });
    await response.text();
    return performance.now() - began;
  };
  for (let i = 0; i < 20; i++) await ask();
  expect(await ask()).toBeGreaterThan(480);
  await server.close(0);
});
