import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { openObjectCache } from '#store/s3/object-store.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();
const MIB = 2 ** 20;

test('a cache recreates its folder after its removal', async () => {
  const folder = await createFolder();
  const cache = await openObjectCache({ folder, bytesMax: 10 * MIB });
  const bytes = new Uint8Array(9);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await cache.put('a', bytes, sha256);
  await rm(folder, { recursive: true });
  expect(await cache.has('a')).toBe(false);
  await cache.fill('a', { body: Readable.from([bytes]), bytes: 9, sha256 });
  expect(await cache.has('a')).toBe(true);
  await rm(folder, { recursive: true });
  await cache.put('b', bytes, sha256);
  expect([await cache.has('a'), await cache.has('b')]).toEqual([false, true]);
});

test('a cache removes the least recently used files, and none used in the last minutes', async () => {
  const folder = await createFolder();
  let now = Date.now();
  const cache = await openObjectCache({ folder, bytesMax: 10 * MIB, now: () => now });
  const bytes = new Uint8Array(4 * MIB).fill(7);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const put = (name: string) => cache.put(name, bytes, sha256);
  for (const name of ['a', 'b', 'c']) await put(name);
  expect(await Promise.all(['a', 'b', 'c'].map(cache.has))).toEqual([true, true, true]);
  now += 3_600_000;
  expect(await cache.has('a')).toBe(true);
  await put('d');
  expect(await Promise.all(['a', 'b', 'c', 'd'].map(cache.has))).toEqual([true, false, false, true]);
});

test('produced bytes are sent from a file, and cached only afterwards', async () => {
  const folder = await createFolder();
  const cache = await openObjectCache({ folder, bytesMax: 10 * MIB });
  const piece = new Uint8Array(3); // a buffer that is reused for every part, as by a real stream
  const content = {
    length: 9,
    *parts() {
      for (const value of [1, 2, 3]) yield piece.fill(value);
    },
  };
  const sentBytes: number[][] = [];
  const sha256 = await cache.make('a', content, async ({ length, slice }, hash) => {
    expect(length).toBe(9);
    for (const offset of [0, 4]) sentBytes.push([...(await slice(offset, Math.min(offset + 5, 9)))]);
    expect(hash).toBe(
      createHash('sha256')
        .update(Uint8Array.of(1, 1, 1, 2, 2, 2, 3, 3, 3))
        .digest('hex'),
    );
    expect(await cache.has('a')).toBe(false);
  });
  expect(sentBytes).toEqual([
    [1, 1, 1, 2, 2],
    [2, 2, 3, 3, 3],
  ]);
  expect([await cache.has('a'), (await readFile(cache.path('a'))).length]).toEqual([true, 9]);
  const refusedCopy = cache.make('b', content, async () => Promise.reject(new Error('not sent')));
  await expect(refusedCopy).rejects.toThrow('not sent');
  expect(await readdir(folder)).toEqual(expect.arrayContaining(['a', 'a.sha256']));
  expect((await readdir(folder)).length).toBe(2);
  expect(sha256).toHaveLength(64);
});
