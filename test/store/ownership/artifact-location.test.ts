import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { createArtifactName } from '#store/artifacts/artifact.js';
import { openArtifacts } from '#store/artifacts/folder-store.js';
import { watchFreeSpace } from '#store/artifacts/free-space.js';
import { assertStore, claimStore, type StoreWatch, watchArtifacts, watchStore } from '#store/ownership/ownership.js';
import type { DocumentEngine } from '#store/port.js';
import { createMemoryEngine } from '../memory-engine.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();
const MARKER = 'divisor-store.json';
const CONTENT = new TextEncoder().encode('results');
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

const createFolderPlace = (folder: string) => ({ kind: 'folder', folder }) as const;
const readMark = async (folder: string): Promise<string> =>
  (JSON.parse(await readFile(join(folder, MARKER), 'utf8')) as { store_id: string }).store_id;
const isPresent = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

let watch: StoreWatch | undefined;
afterEach(() => watch?.close());

/** Creates a folder of results that a database owns. Returns it as one of the processes of the database sees it. */
async function createPlace() {
  const folder = join(await createFolder(), 'mount');
  const storeId = await claimStore(createMemoryEngine().open(), createFolderPlace(folder));
  const reports: (string | undefined)[] = [];
  watch = await watchStore(createFolderPlace(folder), { storeId, onChange: (fault) => reports.push(fault) });
  const artifacts = watchArtifacts(await openArtifacts(folder, watchFreeSpace(folder), { storeId }), watch);
  return { folder, artifacts, watch, told: reports };
}

test('a database claims the place of its first process, and no other one afterwards', async () => {
  const [one, other] = [createMemoryEngine().open(), createMemoryEngine().open()];
  const [ownFolder, otherFolder] = [join(await createFolder(), 'mine'), join(await createFolder(), 'theirs')];
  expect(await assertStore(one, createFolderPlace(ownFolder))).toBeUndefined();
  const claims: unknown[] = [];
  const claim = (documents: DocumentEngine, folder: string) =>
    claimStore(documents, createFolderPlace(folder), (made) => claims.push(made));
  await mkdir(otherFolder);
  const [id, otherId] = [await claim(one, ownFolder), await claim(other, otherFolder)];
  expect(claims).toEqual([
    { place: `file://${ownFolder}`, storeId: id, isMade: true },
    { place: `file://${otherFolder}`, storeId: otherId, isMade: false },
  ]);
  expect([await readMark(ownFolder), await readMark(otherFolder)]).toEqual([id, otherId]);
  expect([await claim(one, ownFolder), claims.length]).toEqual([id, 2]);
  expect(await readdir(ownFolder)).toEqual([MARKER]); // the file of the write test has been removed
  for (const ask of [claimStore, assertStore])
    await expect(ask(one, createFolderPlace(otherFolder))).rejects.toMatchObject({
      exitStatus: 78,
      message: `The results storage, --artifacts file://${otherFolder}, is the store ${otherId}; the database names the store ${id}.`,
    });
  const absentFolder = join(await createFolder(), 'typo');
  await expect(claimStore(one, createFolderPlace(absentFolder))).rejects.toMatchObject({
    exitStatus: 78,
    message: /no divisor-store.json/,
  });
  expect(await isPresent(absentFolder)).toBe(false);
  await expect(claimStore(createMemoryEngine().open(), createFolderPlace(ownFolder))).rejects.toMatchObject({
    exitStatus: 78,
  });
});

test('processes that start concurrently claim one place, and a start continues a claim that a crash interrupted', async () => {
  const engine = createMemoryEngine();
  const folder = join(await createFolder(), 'shared');
  const ids = await Promise.all([1, 2, 3].map(async () => claimStore(engine.open(), createFolderPlace(folder))));
  expect(new Set(ids)).toEqual(new Set([await readMark(folder)]));
  const cut = createMemoryEngine().open();
  const recordedStore = { store_id: 'of-before', is_marked: false };
  await cut.transaction(async (tx) => void (await tx.put('artifact-store', 'shared', recordedStore)));
  const leftFolder = join(await createFolder(), 'left');
  expect(await claimStore(cut, createFolderPlace(leftFolder))).toBe('of-before');
  expect(await readMark(leftFolder)).toBe('of-before');
});

test('a database from before markers existed adopts a place with its results, and no other', async () => {
  const documents = createMemoryEngine().open();
  const artifact = { name: createArtifactName(), bytes: 7, sha256: SHA256 };
  await documents.transaction(async (tx) => void (await tx.put('run', 'r', { artifact })));
  const [emptyFolder, ownFolder] = [await createFolder(), await createFolder()];
  await writeFile(join(ownFolder, artifact.name), CONTENT);
  await expect(claimStore(documents, createFolderPlace(emptyFolder))).rejects.toMatchObject({
    exitStatus: 78,
    message: /none of the 1 /,
  });
  expect(await readdir(emptyFolder)).toEqual([]);
  expect(await claimStore(documents, createFolderPlace(ownFolder))).toBe(await readMark(ownFolder));
});

test('a write waits for an unavailable folder, and leaves nothing at its empty mount point', async () => {
  const { folder, artifacts } = await createPlace();
  const name = artifacts.newName();
  await rename(folder, `${folder}-away`);
  await mkdir(folder);
  const destination = JSON.parse(JSON.stringify(artifacts.destination)) as typeof artifacts.destination;
  const writing = openArtifactWriter(destination).write([{ name, bytes: CONTENT }]);
  await expect(artifacts.read({ name, bytes: 7, sha256: SHA256 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true });
  await rename(`${folder}-away`, folder);
  expect(await writing).toEqual([{ name, bytes: 7, sha256: SHA256 }]);
  expect((await readdir(folder)).toSorted()).toEqual([name, MARKER].toSorted());
});

test('a missing file is damage if the place is available, and an outage if it is not', async () => {
  const { folder, artifacts, watch: health, told } = await createPlace();
  const [ref, lostRef] = [await artifacts.write(CONTENT, SHA256), await artifacts.write(CONTENT, SHA256)];
  await rm(join(folder, lostRef.name));
  const readCodes = async (): Promise<unknown[]> => {
    const reads = [() => artifacts.read(lostRef), () => artifacts.file(lostRef), () => artifacts.stream(lostRef)];
    return Promise.all(reads.map((read) => read().then(String, ({ code }: { readonly code: string }) => code)));
  };
  expect(await readCodes()).toEqual(Array.from({ length: 3 }, () => 'DOCUMENT_UNREADABLE'));
  expect([await artifacts.isIntact(ref), await artifacts.isIntact(lostRef), health.fault()]).toEqual([
    true,
    false,
    undefined,
  ]);
  await rename(folder, `${folder}-away`);
  expect(await readCodes()).toEqual(Array.from({ length: 3 }, () => 'STORE_UNAVAILABLE'));
  expect(health.fault()).toMatch(/^The results storage is unavailable: /); // clients receive this text, so it contains no path
  await expect(artifacts.isIntact(ref)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await expect(artifacts.write(CONTENT, SHA256)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await artifacts.remove([ref.name]);
  await rename(`${folder}-away`, folder);
  await expect.poll(() => health.fault()).toBeUndefined();
  expect(told.map((fault) => fault === undefined)).toEqual([false, true]); // each change is reported once
  expect(Buffer.from(await artifacts.read(ref)).toString()).toBe('results');
  await writeFile(join(folder, 'report.pdf'), 'of somebody else');
  await artifacts.sweep(async () => new Set());
  expect((await readdir(folder)).toSorted()).toEqual([MARKER, 'report.pdf', 'trash']);
});
