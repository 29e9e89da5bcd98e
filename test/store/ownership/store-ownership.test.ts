import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openArtifacts } from '#store/artifacts/folder-store.js';
import { watchFreeSpace } from '#store/artifacts/free-space.js';
import {
  claimStore,
  takeOverStore,
  createOwnedArtifacts,
  openOwnership,
  type StoreOwnership,
} from '#store/ownership/ownership.js';
import type { DocumentEngine } from '#store/port.js';
import { createMemoryEngine } from '../memory-engine.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();
const TIMES = { renewMs: 250, observeMs: 750, repeatMs: 20 };
const LIVE_DATABASE = { system: '7000000000000000001', database: 'divisor' };
const CONTENT = new TextEncoder().encode('results');
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

const openOwnerships: StoreOwnership[] = [];
afterEach(() => openOwnerships.splice(0).forEach((ownership) => ownership.close()));

const createFolderPlace = (folder: string) => ({ kind: 'folder', folder }) as const;
const readToken = async (folder: string): Promise<string> =>
  (JSON.parse(await readFile(join(folder, 'divisor-store.json'), 'utf8')) as { owner: { token: string } }).owner.token;

interface Process {
  readonly ownership: StoreOwnership;
  /** Messages about lost ownerships. */
  readonly lost: string[];
}

async function begin(documents: DocumentEngine, folder: string, identity = LIVE_DATABASE): Promise<Process> {
  const lostMessages: string[] = [];
  const onLost = ({ message }: Error): void => void lostMessages.push(message);
  const ownership = await openOwnership(documents, createFolderPlace(folder), { identity, onLost, times: TIMES });
  openOwnerships.push(ownership);
  return { ownership, lost: lostMessages };
}

/** Creates a database with a folder of results. Both are in the state in which their first process leaves them. */
async function createLivingCluster() {
  const folder = join(await createFolder(), 'mount');
  const documents = createMemoryEngine().open();
  await claimStore(documents, createFolderPlace(folder));
  return { folder, documents, ...(await begin(documents, folder)) };
}

async function createCopy(documents: DocumentEngine): Promise<DocumentEngine> {
  const copy = createMemoryEngine().open();
  const document = await documents.get('artifact-store', 'shared');
  const body = (document as { readonly body: unknown }).body;
  await copy.transaction(async (tx) => void (await tx.put('artifact-store', 'shared', structuredClone(body))));
  return copy;
}

test('the first process of a database owns its place at once, the next one after it has seen a renewal', async () => {
  const { folder, documents, ownership } = await createLivingCluster();
  expect([ownership.isConfirmed(), ownership.isHolder()]).toEqual([true, true]);
  const second = await begin(documents, folder);
  expect([second.ownership.isConfirmed(), second.ownership.isHolder()]).toEqual([false, false]);
  await expect.poll(() => second.ownership.isConfirmed()).toBe(true);
  expect([second.ownership.isHolder(), second.lost]).toEqual([false, []]);
  ownership.close(); // the holder ends without a notification
  await expect.poll(() => second.ownership.isHolder()).toBe(true);
});

test('processes that claim a new place concurrently agree on its owner', async () => {
  for (let round = 0; round < 20; round++) {
    const folder = join(await createFolder(), 'mount');
    const engine = createMemoryEngine();
    const processes = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const documents = engine.open();
        await claimStore(documents, createFolderPlace(folder));
        return begin(documents, folder);
      }),
    );
    expect(processes.flatMap(({ lost }) => lost)).toEqual([]);
    for (const { ownership } of processes) ownership.close();
  }
});

test('a database restored elsewhere from a dump cannot start on the place of the live one', async () => {
  const { folder, documents } = await createLivingCluster();
  const clone = await createCopy(documents);
  for (const identity of [
    { system: '7000000000000000002', database: 'divisor' },
    { system: LIVE_DATABASE.system, database: 'staging' },
  ])
    await expect(begin(clone, folder, identity)).rejects.toMatchObject({
      exitStatus: 78,
      message: /belongs to the database divisor .*divisor adopt --new-place URL.*--take-over.*--read-only/,
    });
});

test('a physical copy of the database, of the same server and name, ends and removes nothing; the live one continues', async () => {
  const { folder, documents, ownership, lost } = await createLivingCluster();
  const copiedDocuments = await createCopy(documents);
  const clone = await begin(copiedDocuments, folder);
  const artifacts = await openArtifacts(folder, watchFreeSpace(folder), { storeId: 'of-nobody' });
  const artifactPath = join(folder, `${'a'.repeat(32)}.art`);
  await writeFile(artifactPath, CONTENT); // a result that only the live database references
  const seenByClone = createOwnedArtifacts(artifacts, clone.ownership);
  const sweep = () => seenByClone.sweep(async () => new Set());
  expect(await sweep()).toBe(0);
  await seenByClone.remove([`${'a'.repeat(32)}.art`]);
  await seenByClone.discard([`${'a'.repeat(32)}.art`]);
  await expect.poll(() => clone.lost.length).toBe(1);
  expect(clone.lost[0]).toContain('was renewed by another copy of the database divisor');
  expect([await sweep(), await readFile(artifactPath, 'utf8')]).toEqual([0, 'results']);
  expect([ownership.isConfirmed(), lost]).toEqual([true, []]);
});

test('a copy that is older than the last renewal is refused at its start', async () => {
  const { folder, documents } = await createLivingCluster();
  const [clone, token] = [await createCopy(documents), await readToken(folder)];
  await expect.poll(() => readToken(folder)).not.toBe(token);
  await expect(begin(clone, folder)).rejects.toMatchObject({ exitStatus: 78 });
});

test('an interrupted renewal is completed, and a delayed earlier token is replaced', async () => {
  const { folder, documents, ownership, lost } = await createLivingCluster();
  ownership.close();
  const token = await readToken(folder);
  const recordedDocument = (await documents.get('artifact-store', 'shared')) as {
    readonly body: { readonly ownership: object };
  };
  const cut = { ...recordedDocument.body, ownership: { ...recordedDocument.body.ownership, next: 'next-token' } };
  await documents.transaction(async (tx) => void (await tx.put('artifact-store', 'shared', cut)));
  const second = await begin(documents, folder);
  await expect.poll(() => readToken(folder)).toBe('next-token');
  await expect.poll(() => readToken(folder)).not.toBe('next-token');
  const markerPath = join(folder, 'divisor-store.json');
  const text = await readFile(markerPath, 'utf8');
  await writeFile(markerPath, text.replace(await readToken(folder), token)); // simulates a process that was stopped while writing the marker
  await expect.poll(() => readToken(folder)).not.toBe(token);
  expect([lost, second.lost]).toEqual([[], []]);
});

test('discarded results stay in the trash for a time and are restored from it', async () => {
  const { folder, documents } = await createLivingCluster();
  const { store_id: storeId } = ((await documents.get('artifact-store', 'shared')) as { body: { store_id: string } })
    .body;
  const artifacts = await openArtifacts(folder, watchFreeSpace(folder), { storeId });
  const [namedRef, otherRef] = [await artifacts.write(CONTENT, SHA256), await artifacts.write(CONTENT, SHA256)];
  expect(await artifacts.sweep(async () => new Set([namedRef.name]), { trashMs: 3_600_000 })).toBe(1);
  await artifacts.discard([namedRef.name]);
  expect((await readdir(join(folder, 'trash'))).toSorted()).toEqual([namedRef.name, otherRef.name].toSorted());
  const unknownName = `${'b'.repeat(32)}.art`;
  expect(await artifacts.restore([namedRef.name, unknownName])).toEqual([unknownName]);
  expect(Buffer.from(await artifacts.read(namedRef)).toString()).toBe('results');
  await artifacts.sweep(async () => new Set([namedRef.name]));
  expect([await readdir(join(folder, 'trash')), await artifacts.isIntact(namedRef)]).toEqual([[], true]);
});

test('a partially written draft is removed, and the complete file of its name stays', async () => {
  const { folder, documents } = await createLivingCluster();
  const { store_id: storeId } = ((await documents.get('artifact-store', 'shared')) as { body: { store_id: string } })
    .body;
  const artifacts = await openArtifacts(folder, watchFreeSpace(folder), { storeId });
  const namedRef = await artifacts.write(CONTENT, SHA256);
  await writeFile(join(folder, `${namedRef.name}.new`), 'half'); // simulates a process that was stopped while writing the file
  expect(await artifacts.sweep(async () => new Set([namedRef.name]))).toBe(1);
  expect(await artifacts.isIntact(namedRef)).toBe(true);
  expect((await readdir(folder)).filter((name) => name.startsWith(namedRef.name))).toEqual([namedRef.name]);
});

test('a database that was reset takes over its place once no service renews it, and the earlier process is refused', async () => {
  const { folder, documents, ownership } = await createLivingCluster();
  const earlierCopy = await createCopy(documents);
  const options = { identity: LIVE_DATABASE, observeMs: 10 * TIMES.renewMs };
  const token = await readToken(folder);
  await expect.poll(() => readToken(folder)).not.toBe(token);
  await expect(takeOverStore(earlierCopy, createFolderPlace(folder), options)).rejects.toMatchObject({
    exitStatus: 75,
    message: /was renewed during the check/,
  });
  ownership.close();
  // A renewal may still finish if it began before the close.
  const takeOver = () => takeOverStore(earlierCopy, createFolderPlace(folder), options).then(() => 'taken', String);
  await expect.poll(takeOver).toBe('taken');
  const after = await begin(earlierCopy, folder);
  await expect.poll(() => after.ownership.isConfirmed()).toBe(true);
  await expect(begin(documents, folder)).rejects.toMatchObject({ exitStatus: 78 });
});

test('a sweep requests a thousand names at a time, and stops when the place is no longer owned', async () => {
  const folder = await createFolder();
  const names = Array.from({ length: 1500 }, (_, i) => `${i.toString(16).padStart(32, '0')}.art`);
  await Promise.all(names.map((name) => writeFile(join(folder, name), CONTENT)));
  const pages: (readonly string[])[] = [];
  const ask = async (page: readonly string[]) => new Set((pages.push(page), page.slice(0, 10)));
  const ownership = { isConfirmed: () => pages.length < 2, isHolder: () => true };
  expect(await createOwnedArtifacts(await openArtifacts(folder), ownership).sweep(ask)).toBe(990);
  expect(pages.map(({ length }) => length)).toEqual([1000, 500]);
  expect(await readdir(folder)).toHaveLength(510);
});
