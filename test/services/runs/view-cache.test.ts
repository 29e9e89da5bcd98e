import { expect, test } from 'vitest';
import { createViewCache } from '#services/runs/views.js';

/**
 * Creates a cache, and views that each have this number of bytes. The views are numbered in the order in which they are
 * created.
 */
function createViews(limitBytes: number) {
  const cache = createViewCache(limitBytes);
  let count = 0;
  const ask = async (question: unknown, size = 10): Promise<number> => {
    const { bytes } = await cache.get(question, async () => ({
      bytes: new Uint8Array(size).fill(++count),
      sha256: '',
    }));
    return bytes[0]!;
  };
  return { cache, ask };
}

test('equal requests are computed once, however their members are ordered', async () => {
  const { ask } = createViews(1000);
  expect([
    await ask({ view: 'weights', asOf: null }),
    await ask({ asOf: null, view: 'weights' }),
    await ask({ view: 'weights', asOf: '2024-01-02' }),
  ]).toEqual([1, 1, 2]);
});

test('the least recently read view is removed when the cache is full', async () => {
  const { ask } = createViews(100);
  for (const question of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) await ask(question);
  expect(await ask(1)).toBe(1);
  expect(await ask(11)).toBe(11);
  expect([await ask(1), await ask(3), await ask(2)]).toEqual([1, 3, 12]);
});

test('a view larger than an eighth of the cache is computed every time', async () => {
  const { ask } = createViews(100);
  expect([await ask('large', 13), await ask('large', 13), await ask('small', 12), await ask('small', 12)]).toEqual([
    1, 2, 3, 3,
  ]);
});

test('a failure is not cached', async () => {
  const { cache, ask } = createViews(100);
  await expect(cache.get('q', () => Promise.reject(new Error('cancelled')))).rejects.toThrow('cancelled');
  expect(await ask('q')).toBe(1);
});
