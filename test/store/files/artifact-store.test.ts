import { createHash, pbkdf2 } from 'node:crypto';
import { mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { openArtifacts } from '#store/artifacts/folder-store.js';
import { watchFreeSpace } from '#store/artifacts/free-space.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { openTemporaryFolders } from '../temporary-folder.js';
import { waitFor } from '../../waiting.js';

const createFolder = openTemporaryFolders();

/** Content that is longer than one chunk of a stream. No two adjacent pages of it are equal. */
const CONTENT = Uint8Array.from({ length: 700_001 }, (_, i) => (i * 31 + (i >> 8)) & 255);
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

async function drain(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('bytes are returned as they were written, completely and in ranges, read and streamed', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const ref = await artifacts.write(CONTENT, SHA256);
  expect(ref).toMatchObject({ bytes: 700_001, sha256: SHA256 });
  expect(Buffer.compare(await artifacts.read(ref), CONTENT)).toBe(0);
  expect(Buffer.compare(await drain(await artifacts.stream(ref)), CONTENT)).toBe(0);
  const range = { start: 262_000, end: 524_400 };
  expect(Buffer.compare(await artifacts.read(ref, range), CONTENT.subarray(range.start, range.end))).toBe(0);
  expect(
    Buffer.compare(await drain(await artifacts.stream(ref, range)), CONTENT.subarray(range.start, range.end)),
  ).toBe(0);
  expect(Buffer.compare(await readFile(await artifacts.file(ref)), CONTENT)).toBe(0);
});

test('a file of any size is stored byte by byte, and one changed byte of it is detected', async () => {
  const [artifacts, path] = [await openArtifacts(await createFolder()), join(await createFolder(), 'prices.parquet')];
  const bytes = 65 * 2 ** 20;
  await writeFile(path, '');
  await truncate(path, bytes); // zeros, which occupy no disk space
  const ref = await artifacts.writeFile(path);
  expect(ref).toMatchObject({ bytes, sha256: createHash('sha256').update(Buffer.alloc(bytes)).digest('hex') });
  expect(await artifacts.isIntact(ref)).toBe(true);
  await writeFile(await artifacts.file(ref), 'x', { flag: 'r+' });
  expect(await artifacts.isIntact(ref)).toBe(false);
});

test('a claimed file is stored without a copy, and is kept after its first name is removed', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const claimedName = await artifacts.claim(CONTENT.length);
  const path = await artifacts.file({ name: claimedName });
  await writeFile(path, CONTENT);
  const { ino } = await stat(path);
  const ref = await artifacts.writeFile(path);
  expect(ref).toMatchObject({ bytes: CONTENT.length, sha256: SHA256 });
  expect(await stat(await artifacts.file(ref))).toMatchObject({ ino });
  await artifacts.remove([claimedName]);
  expect(Buffer.compare(await artifacts.read(ref), CONTENT)).toBe(0);
});

test('a missing or damaged artifact is never returned', async () => {
  const folder = await createFolder();
  const artifacts = await openArtifacts(folder);
  const ref = await artifacts.write(CONTENT, SHA256);
  expect(await artifacts.isIntact(ref)).toBe(true);
  const bytes = await readFile(join(folder, ref.name));
  await writeFile(
    join(folder, ref.name),
    bytes.map((byte, i) => (i === 50_000 ? byte ^ 1 : byte)),
  );
  expect(await artifacts.isIntact(ref)).toBe(false);
  await expect(artifacts.stream(ref)).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' });
  await artifacts.remove([ref.name]);
  await expect(artifacts.stream(ref)).rejects.toThrow('missing or damaged');
});

test('an empty artifact is an artifact', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const ref = await artifacts.write(new Uint8Array(0), createHash('sha256').digest('hex'));
  expect(await artifacts.read(ref)).toHaveLength(0);
  expect(await drain(await artifacts.stream(ref))).toHaveLength(0);
});

test('equal bytes written twice are two artifacts, so that each owner can delete its own', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const [a, b] = await Promise.all([artifacts.write(CONTENT, SHA256), artifacts.write(CONTENT, SHA256)]);
  expect(a.name).not.toBe(b.name);
  await artifacts.remove([a.name, a.name, 'never-there.art']);
  expect(await artifacts.read(b)).toHaveLength(700_001);
});

test('a missing, short or changed file is refused instead of served', async () => {
  const folder = await createFolder();
  const artifacts = await openArtifacts(folder);
  const [missingRef, shortRef, changedRef] = await Promise.all([1, 2, 3].map(() => artifacts.write(CONTENT, SHA256)));
  await artifacts.remove([missingRef!.name]);
  await truncate(join(folder, shortRef!.name), 700_000);
  const bytes = await readFile(join(folder, changedRef!.name));
  bytes[699_999]! ^= 1;
  await writeFile(join(folder, changedRef!.name), bytes);
  const unreadable = { code: 'DOCUMENT_UNREADABLE' };
  await expect(artifacts.read(missingRef!)).rejects.toMatchObject(unreadable);
  await expect(artifacts.read(shortRef!)).rejects.toMatchObject(unreadable);
  await expect(artifacts.read(changedRef!)).rejects.toMatchObject(unreadable);
  await expect(artifacts.stream(missingRef!)).rejects.toThrow('missing or damaged');
  await expect(artifacts.stream(shortRef!)).rejects.toThrow('missing or damaged');
  await expect(artifacts.stream(changedRef!)).rejects.toMatchObject(unreadable); // no byte is sent before the check
});

test('a file that changes while it is streamed never ends as a complete stream', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const ref = await artifacts.write(CONTENT, SHA256);
  const stream = await artifacts.stream(ref);
  await writeFile(await artifacts.file(ref), 'x', { flag: 'r+' });
  await expect(drain(stream)).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' });
});

test('no message names a file', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const ref = await artifacts.write(CONTENT, SHA256);
  await artifacts.remove([ref.name]);
  for (const pendingRead of [
    artifacts.stream(ref),
    artifacts.read(ref),
    artifacts.link([{ ref, name: artifacts.newName() }]),
  ])
    await expect(pendingRead).rejects.toThrow(/^The stored bytes are missing or damaged\.$/);
});

test('files that are missing, short or written to since are damaged if their content differs', async () => {
  const folder = await createFolder();
  const artifacts = await openArtifacts(folder);
  const refs = await Promise.all([1, 2, 3, 4, 5].map(() => artifacts.write(CONTENT, SHA256)));
  const [missingRef, shortRef, changedRef, touchedRef, wholeRef] = refs;
  const madeAt = (await stat(join(folder, wholeRef!.name))).mtimeMs;
  const listDamaged = () => artifacts.damaged(refs.map((ref) => ({ ref, madeAt })));
  expect(await listDamaged()).toEqual(new Set());
  const laterTime = new Date(madeAt + 5000);
  await artifacts.remove([missingRef!.name]);
  await truncate(join(folder, shortRef!.name), 700_000);
  await writeFile(join(folder, changedRef!.name), 'x', { flag: 'r+' });
  for (const { name } of [changedRef!, touchedRef!]) await utimes(join(folder, name), laterTime, laterTime);
  expect(await listDamaged()).toEqual(new Set([missingRef!, shortRef!, changedRef!].map(({ name }) => name)));
  await writeFile(join(folder, touchedRef!.name), 'x', { flag: 'r+' }); // verified before the change
  expect(await listDamaged()).toContain(touchedRef!.name);
});

test('unchanged files are compared while the threads for file access are busy', async () => {
  const folder = await createFolder();
  const artifacts = await openArtifacts(folder);
  const refs = await Promise.all([1, 2, 3].map(() => artifacts.write(CONTENT, SHA256)));
  let ended = 0;
  const hashes = Array.from({ length: 8 }, async () => {
    await promisify(pbkdf2)('secret', 'salt', 100_000, 64, 'sha512');
    ended++;
  });
  expect(await artifacts.damaged(refs.map((ref) => ({ ref, madeAt: Date.now() + 1000 })))).toEqual(new Set());
  expect(ended).toBe(0);
  await Promise.all(hashes);
});

test('a reader that has begun reads to the end although the artifact is removed', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const ref = await artifacts.write(CONTENT, SHA256);
  const stream = await artifacts.stream(ref);
  await artifacts.remove([ref.name]);
  expect(Buffer.compare(await drain(stream), CONTENT)).toBe(0);
});

test('abandoned and finished streams close their files', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const ref = await artifacts.write(CONTENT, SHA256);
  const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd').catch(() => [])).length;
  const before = await openFiles();
  for (let i = 0; i < 20; i++) {
    const openReader = (await artifacts.stream(ref)).getReader();
    await openReader.read();
    await openReader.cancel();
    await (await artifacts.stream(ref)).cancel();
    await drain(await artifacts.stream(ref));
  }
  expect(await openFiles()).toBeLessThanOrEqual(before + 1);
});

test('a full disk refuses an artifact and leaves no part of it', async () => {
  const folder = await createFolder();
  const gauge = { read: async () => ({ freeBytes: 500_000, totalBytes: 1e9 }), monotonicMs: () => 0 };
  const artifacts = await openArtifacts(folder, watchFreeSpace(folder, { bytes: 1000 }, gauge));
  await expect(artifacts.write(CONTENT, SHA256)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  expect(await readdir(folder)).toEqual([]);
});

test('a start removes orphaned and partial files, and nothing else', async () => {
  const path = await createFolder();
  const onFailure = (cause: unknown): void => {
    throw cause;
  };
  let home = await openHome(path);
  let store = await openStore({ home, onFailure });
  const ownedRef = await store.artifacts.write(CONTENT, SHA256);
  const lostRef = await store.artifacts.write(CONTENT, SHA256);
  await store.documents.transaction((tx) => tx.put('run', 'a', { result: ownedRef }));
  await writeFile(join(home.artifacts, `${'0'.repeat(32)}.art.new`), 'half');
  await store.close();
  await home.close();
  home = await openHome(path);
  store = await openStore({ home, onFailure });
  expect(await readdir(home.artifacts)).toEqual([ownedRef.name]);
  await expect(store.artifacts.stream(lostRef)).rejects.toThrow('missing or damaged');
  await store.close();
  await home.close();
});

test('an artifact is deleted a while after its last document, so that a reader of the document can open it', async () => {
  const home = await openHome(await createFolder());
  const store = await openStore({ home, onFailure: () => {} });
  const ref = await store.artifacts.write(CONTENT, SHA256);
  await store.documents.transaction((tx) => tx.put('run', 'a', { result: ref }));
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    await store.documents.transaction((tx) => tx.delete('run', 'a'));
    expect(await readdir(home.artifacts)).toEqual([ref.name]);
    vi.advanceTimersByTime(60_000);
  } finally {
    vi.useRealTimers();
  }
  await waitFor(async () => expect(await readdir(home.artifacts)).toEqual([]));
  await store.close();
  await home.close();
});

test('an artifact deleted shortly before the service stops is removed when it stops', async () => {
  const home = await openHome(await createFolder());
  const store = await openStore({ home, onFailure: () => {} });
  await mkdir(home.artifacts, { recursive: true });
  const ref = await store.artifacts.write(CONTENT, SHA256);
  await store.documents.transaction((tx) => tx.put('run', 'a', { result: ref }));
  await store.documents.transaction((tx) => tx.delete('run', 'a'));
  await store.close();
  expect(await readdir(home.artifacts)).toEqual([]);
  await home.close();
});

test('bytes under second names remain when the first names are deleted, and none are returned if some are missing or truncated', async () => {
  const folder = await createFolder();
  const artifacts = await openArtifacts(folder);
  const [ref, other] = await Promise.all([artifacts.write(CONTENT, SHA256), artifacts.write(CONTENT, SHA256)]);
  const [second, third] = await artifacts.link([ref, other].map((each) => ({ ref: each, name: artifacts.newName() })));
  await artifacts.remove([ref.name]);
  expect(second).toMatchObject({ bytes: 700_001, sha256: SHA256 });
  expect(Buffer.compare(await artifacts.read(second!), CONTENT)).toBe(0);
  const unreadable = { code: 'DOCUMENT_UNREADABLE' };
  await expect(
    artifacts.link([
      { ref: other, name: artifacts.newName() },
      { ref, name: artifacts.newName() },
    ]),
  ).rejects.toMatchObject(unreadable);
  await truncate(await artifacts.file(second!), 5);
  await expect(artifacts.link([{ ref: second!, name: artifacts.newName() }])).rejects.toMatchObject(unreadable);
  expect((await readdir(folder)).toSorted()).toEqual([other, second!, third!].map(({ name }) => name).toSorted());
});

test('a hash computed elsewhere while an artifact is streamed detects the changed byte', async () => {
  const addedBytes: number[] = [];
  const hashApart = (bytes: number) => {
    const hash = createHash('sha256');
    addedBytes.push(bytes);
    return {
      async add(part: Uint8Array) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        hash.update(part);
      },
      hex: () => hash.digest('hex'),
    };
  };
  const artifacts = await openArtifacts(await createFolder(), undefined, { hashApart });
  const ref = await artifacts.write(CONTENT, SHA256);
  expect(Buffer.compare(await drain(await artifacts.stream(ref)), CONTENT)).toBe(0);
  await writeFile(await artifacts.file(ref), 'x', { flag: 'r+' });
  await expect(artifacts.stream(ref)).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' });
  expect(addedBytes).toEqual([CONTENT.length, CONTENT.length]);
});
