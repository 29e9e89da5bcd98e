import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { openArtifacts } from '#store/artifacts/folder-store.js';
import { watchFreeSpace } from '#store/artifacts/free-space.js';
import { allocatePageMemory, LARGE_BYTES_MIN } from '#base/memory.js';
import type { ApartHash } from '#store/port.js';
import { interceptFiles, watchCalls } from '../../durability/counted-calls.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();
let restore: () => void;
beforeAll(() => {
  restore = interceptFiles();
});
afterAll(() => restore());

const BYTES = Uint8Array.from({ length: 1_002_003 }, (_, i) => (i * 31 + (i >> 8)) & 255);
const openEarlyWriter = (folder: string, name: string) =>
  openArtifactWriter({ kind: 'folder', folder, lowWaterMark: {} }).early!(name);

async function writeEarlyFile(folder: string): Promise<void> {
  const earlyWriter = await openEarlyWriter(folder, 'a.art');
  earlyWriter.begin(BYTES);
  await earlyWriter.end();
}

test('an early artifact has its bytes and its hash, under its name only at its end', async () => {
  const folder = await createFolder();
  const earlyWriter = await openEarlyWriter(folder, 'a.art');
  expect(earlyWriter.begin(BYTES)).toBe(true);
  expect(await readdir(folder)).toEqual(['a.art.new']);
  const sha256 = createHash('sha256').update(BYTES).digest('hex');
  expect(await earlyWriter.end()).toEqual({ bytes: BYTES.length, sha256 });
  expect(Buffer.compare(await readFile(join(folder, 'a.art')), BYTES)).toBe(0);
});

test('nothing remains of a discarded artifact, begun or not', async () => {
  const folder = await createFolder();
  const [idleWriter, begunWriter] = [await openEarlyWriter(folder, 'a.art'), await openEarlyWriter(folder, 'b.art')];
  begunWriter.begin(BYTES);
  await Promise.all([idleWriter.drop(), begunWriter.drop()]);
  expect(await readdir(folder)).toEqual([]);
});

test('an artifact with a missing draft is discarded without an error, which would hide that of its task', async () => {
  const folder = await createFolder();
  const earlyWriter = await openEarlyWriter(folder, 'a.art');
  earlyWriter.begin(BYTES);
  await rm(join(folder, 'a.art.new'));
  await earlyWriter.drop();
  expect(await readdir(folder)).toEqual([]);
});

test('large bytes are not begun early without a hash on another thread, nor small ones in parts', async () => {
  const folder = await createFolder();
  const earlyWriter = await openEarlyWriter(folder, 'a.art');
  expect(earlyWriter.begin(new Uint8Array(LARGE_BYTES_MIN))).toBe(false);
  expect(earlyWriter.begin(new Uint8Array(LARGE_BYTES_MIN - 1), 4096)).toBe(false);
  expect(earlyWriter.begin(new Uint8Array(LARGE_BYTES_MIN - 1))).toBe(true);
  await earlyWriter.drop();
});

/** Returns a hash whose parts are computed later, as by another thread. */
function createLaterHash(): ApartHash {
  const laterHash = createHash('sha256');
  let lastPart = Promise.resolve();
  return {
    begin: (bytes) => void (lastPart = lastPart.then(async () => void laterHash.update(bytes))),
    hex: () => lastPart.then(() => laterHash.digest('hex')),
  };
}

const openLargeWriter = (folder: string) =>
  openArtifactWriter({ kind: 'folder', folder, lowWaterMark: {} }).early!('a.art', createLaterHash);

interface LargeBytes {
  readonly bytes: Uint8Array;
  readonly final: number;
  /** Writes the bytes of a range. */
  fill(from: number, to: number): void;
}

/** Returns bytes of which the first ones are final: more than one block, and no whole number of sectors. */
function createLargeBytes(): LargeBytes {
  const length = LARGE_BYTES_MIN + 3 * 2 ** 20 + 12_345;
  const bytes = new Uint8Array(allocatePageMemory(length), 0, length);
  const final = LARGE_BYTES_MIN - 777;
  const fill = (from: number, to: number): void => {
    for (let i = from; i < to; i++) bytes[i] = (i * 31 + (i >> 8)) & 255;
  };
  fill(0, final);
  return { bytes, final, fill };
}

test('the first bytes of a large artifact are written before the others are known', async () => {
  const folder = await createFolder();
  const earlyWriter = await openLargeWriter(folder);
  const { bytes, final, fill } = createLargeBytes();
  expect(earlyWriter.begin(bytes, final)).toBe(true);
  const next = final + 2 ** 20 + 5;
  fill(final, next);
  expect(earlyWriter.extend(final + 10)).toBe(false); // too few bytes for a write
  expect(earlyWriter.extend(next)).toBe(true);
  fill(next, bytes.length);
  const written: string[] = [];
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(await earlyWriter.end({ onWritten: async ({ name }) => void written.push(name) })).toEqual({
    bytes: bytes.length,
    sha256,
  });
  expect(written).toEqual(['a.art']);
  expect(Buffer.compare(await readFile(join(folder, 'a.art')), bytes)).toBe(0);
  expect(await readdir(folder)).toEqual(['a.art']);
});

test('a large artifact that is discarded is no longer read, and leaves nothing', async () => {
  const folder = await createFolder();
  const earlyWriter = await openLargeWriter(folder);
  const { bytes, final } = createLargeBytes();
  earlyWriter.begin(bytes, final);
  await earlyWriter.drop();
  expect(await readdir(folder)).toEqual([]);
});

test('a large artifact whose hash fails has no file', async () => {
  const folder = await createFolder();
  const failingHash = (): ApartHash => ({ begin: () => {}, hex: () => Promise.reject(new Error('no hash')) });
  const destination = { kind: 'folder', folder, lowWaterMark: {} } as const;
  const earlyWriter = await openArtifactWriter(destination).early!('a.art', failingHash);
  const { bytes, final } = createLargeBytes();
  earlyWriter.begin(bytes, final);
  await expect(earlyWriter.end()).rejects.toThrow('no hash');
  expect(await readdir(folder)).toEqual([]);
});

test('no file is left, whichever call the disk refuses', async () => {
  const refusedCalls: string[] = [];
  for (let refusedCall = 1; refusedCalls.length === refusedCall - 1; refusedCall++) {
    const folder = await createFolder();
    let count = 0;
    watchCalls(folder, (call) => {
      if (++count !== refusedCall || call === 'unlink') return;
      refusedCalls.push(call);
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    });
    const outcome = await writeEarlyFile(folder).then(
      () => 'written',
      (thrown: NodeJS.ErrnoException) => thrown.code,
    );
    watchCalls(folder, undefined);
    const isRefused = refusedCalls.length === refusedCall;
    expect(outcome).toBe(isRefused ? 'EIO' : 'written');
    expect(await readdir(folder)).toEqual(isRefused ? [] : ['a.art']);
  }
  expect(refusedCalls).toEqual(['open', 'rename']);
});

test('none is begun below the low-space limit of the store, or if machines share a folder', async () => {
  const folder = join(await createFolder(), 'artifacts');
  await mkdir(folder);
  const { destination } = await openArtifacts(folder, watchFreeSpace(folder, { bytes: 2 ** 60, fraction: 1 }));
  await expect(openArtifactWriter(destination).early!('a.art')).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  expect(await readdir(folder)).toEqual([]);
  expect(openArtifactWriter({ kind: 'folder', folder, lowWaterMark: {}, storeId: 'shared' }).early).toBeUndefined();
});
