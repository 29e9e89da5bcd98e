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

const GUESS = { authorization: 'Bearer wrong' };

test('a guesser waits; a right key, and a request without any, never do', async () => {
  const { app } = createSample();
  const ended: string[] = [];
  const asked = async (name: string, headers: Record<string, string>, address: string): Promise<number> => {
    const { status } = await app.fetch(new Request('http://localhost/things', { headers }), { address });
    ended.push(name);
    return status;
  };
  for (let i = 0; i < 20; i++) expect(await asked('a first guess', GUESS, '10.0.0.1')).toBe(401);
  ended.length = 0;
  const guess = asked('the guess', GUESS, '10.0.0.1');
  const others = [
    await asked('a right key', { 'x-api-key': 'read' }, '10.0.0.1'),
    await asked('no key', {}, '10.0.0.1'),
    await asked('a guess from elsewhere', GUESS, '10.0.0.2'),
  ];
  expect([...others, await guess]).toEqual([200, 401, 401, 401]);
  expect(ended).toEqual(['a right key', 'no key', 'a guess from elsewhere', 'the guess']);
});

test('over the wire the address is the one of the socket', async () => {
  const server = await listen({ app: createSample().app, host: '127.0.0.1', port: 0 });
  const ended: string[] = [];
  const asked = async (name: string, headers: Record<string, string>) => {
    await (await fetch(`${server.url}/things`, { headers })).text();
    ended.push(name);
  };
  for (let i = 0; i < 20; i++) await asked('a first guess', GUESS);
  ended.length = 0;
  await Promise.all([asked('the guess', GUESS), asked('no key', {})]);
  expect(ended).toEqual(['no key', 'the guess']);
  await server.close(0);
});
