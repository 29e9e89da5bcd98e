import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openArtifacts } from '#store/artifacts/folder-store.js';
import { createGauge, watchFreeSpace } from '#store/artifacts/free-space.js';
import { claimStore, type StoreWatch, watchArtifacts, watchStore } from '#store/ownership/ownership.js';
import { createBoundedCalls, guardFolder } from '#store/artifacts/durable-files.js';
import { createMemoryEngine } from '../memory-engine.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();
const CONTENT = new TextEncoder().encode('results');
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');
/** Time in ms without a response after which a call counts as stalled. */
const LIMIT_MS = 60;
const UNAVAILABLE_ERROR = {
  code: 'STORE_UNAVAILABLE',
  message: expect.stringMatching(/is unavailable: it does not answer\.$/),
};

let watch: StoreWatch | undefined;
afterEach(() => watch?.close());

/** Opens a shared folder with a short time limit for its calls. */
async function openSharedFolder() {
  const folder = join(await createFolder(), 'mount');
  const location = { kind: 'folder', folder } as const;
  const storeId = await claimStore(createMemoryEngine().open(), location);
  const call = createBoundedCalls(folder, { readMs: LIMIT_MS, atOnce: 2 });
  const guard = guardFolder(folder, storeId, { patienceMs: 0, call });
  watch = await watchStore(location, { storeId });
  const files = await openArtifacts(folder, watchFreeSpace(folder, {}, createGauge(call)), { storeId, guard });
  return { folder, artifacts: watchArtifacts(files, watch), health: watch };
}

/**
 * Makes calls to a file stall, as on a hard mount. When a process opens a named pipe, it waits in the kernel for the
 * other end, and one of its threads is blocked.
 * @returns a function that restores the file and ends the calls
 */
async function stallFile(path: string): Promise<() => Promise<void>> {
  await rename(path, `${path}-away`);
  execFileSync('mkfifo', [path]);
  return async () => {
    const other = await open(path, constants.O_RDWR); // opens both ends, so that a waiting open continues
    await rename(`${path}-away`, path);
    await other.close();
  };
}

test('a folder that does not respond is an outage: each call ends at its time limit, and further calls end at once meanwhile', async () => {
  const { folder, artifacts, health } = await openSharedFolder();
  const [stuckRef, soundRef] = [await artifacts.write(CONTENT, SHA256), await artifacts.write(CONTENT, SHA256)];
  const release = await stallFile(join(folder, stuckRef.name));
  // There are more reads than threads for files. Reads that are waiting end together with the first read that stalls.
  const reads = await Promise.allSettled(Array.from({ length: 12 }, async () => artifacts.read(stuckRef)));
  for (const read of reads) expect(read).toMatchObject({ status: 'rejected', reason: UNAVAILABLE_ERROR });
  expect(await stat(folder)).toBeDefined(); // file threads are still available
  const refusedAtOnce = [
    artifacts.read(soundRef),
    artifacts.stream(soundRef),
    artifacts.file(soundRef),
    artifacts.write(CONTENT, SHA256),
    artifacts.link([{ ref: soundRef, name: artifacts.newName() }]),
  ];
  for (const refusedCall of await Promise.allSettled(refusedAtOnce))
    expect(refusedCall).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });
  expect(health.fault()).toMatch(/is unavailable: it does not answer/);
  await release();
  await expect.poll(() => health.fault()).toBeUndefined();
  for (const ref of [stuckRef, soundRef]) expect(Buffer.from(await artifacts.read(ref)).toString()).toBe('results');
  expect(await artifacts.isIntact(await artifacts.write(CONTENT, SHA256))).toBe(true);
});

test('no more calls are pending than a stalled folder may block, in the order of their arrival', async () => {
  const call = createBoundedCalls('/mnt/shared', { readMs: 1000, atOnce: 2 });
  const ends: (() => void)[] = [];
  const begunCalls: number[] = [];
  const callsUnderWay = [0, 1, 2, 3].map((i) =>
    call(() => {
      begunCalls.push(i);
      return new Promise<number>((resolve) => ends.push(() => resolve(i)));
    }),
  );
  expect(begunCalls).toEqual([0, 1]);
  ends[1]!();
  expect(await callsUnderWay[1]).toBe(1);
  expect(begunCalls).toEqual([0, 1, 2]);
  for (const end of ends) end();
  await callsUnderWay[2];
  ends[3]!();
  expect(await Promise.all(callsUnderWay)).toEqual([0, 1, 2, 3]);
});

test('the late result of an aborted call is passed to the cleanup, and the folder is available again', async () => {
  const call = createBoundedCalls('/mnt/shared', { readMs: 1 });
  let end: (value: string) => void;
  const lateCalls: string[] = [];
  const callUnderWay = call(
    () => new Promise<string>((resolve) => (end = resolve)),
    undefined,
    (value) => lateCalls.push(value),
  );
  await expect(callUnderWay).rejects.toMatchObject(UNAVAILABLE_ERROR);
  await expect(call(async () => 'next')).rejects.toMatchObject(UNAVAILABLE_ERROR);
  end!('handle');
  await expect.poll(() => lateCalls).toEqual(['handle']);
  expect(await call(async () => 'next')).toBe('next');
});
