import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { cp, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { describe, expect, test } from 'vitest';
import type { DocumentKind, DocumentStore } from '#store/port.js';
import { type VolumeSpace, watchFreeSpace } from '#store/artifacts/free-space.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { openDocumentsReader } from '#store/lmdb/documents-reader.js';
import { seeded } from '../../seeded.js';
import { describeDocumentStore } from '../document-store-contract.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();

describeDocumentStore('documents in LMDB', async (options) => {
  const folder = await createFolder();
  let store = await openDocumentStore({ ...options, folder });
  return {
    store,
    async reopen() {
      await store.close();
      store = await openDocumentStore({ ...options, folder });
      return store;
    },
    reader: async () => openDocumentsReader(folder),
    discard: () => store.close(),
  };
});

/** Writes documents, closes the store, applies `damage` to the raw values, and opens the store again. */
async function addDamage(
  folder: string,
  ids: readonly string[],
  damage: (value: Buffer, id: string) => Buffer,
): Promise<DocumentStore> {
  const store = await openDocumentStore({ folder });
  await store.transaction(async (tx) => {
    for (const id of ids) await tx.put('index', id, { id, name: `Index ${id}`, weights: [0.25, 0.75] });
  });
  await store.close();
  const raw = openLmdb<Buffer, Buffer>({
    path: folder,
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    maxDbs: 1,
  });
  const entries = Array.from(raw.getRange({})); // reads all entries before the first change
  await raw.transaction(() => {
    for (const { key, value } of entries)
      void raw.put(Buffer.from(key), damage(Buffer.from(value), key.toString('latin1').split('\u0000')[2]!));
  });
  await raw.flushed;
  await raw.close();
  return openDocumentStore({ folder });
}

const echoBody = (body: unknown): unknown => body;

describe('a damaged value', () => {
  test('is never returned, counted in the listing, and can be deleted, whichever of its bytes was flipped', async () => {
    const ids = Array.from({ length: 1000 }, (_, i) => `doc-${String(i).padStart(4, '0')}`);
    const store = await addDamage(await createFolder(), ids, (value, id) => {
      const offset = (Number(id.slice(4)) * 131) % value.length; // The offset depends on the id, so that header, body and seal are all damaged.
      value[offset]! ^= 1 << (Number(id.slice(4)) % 8);
      return value;
    });
    const listing = await store.list('index', echoBody);
    expect(listing).toEqual({
      documents: [],
      skipped: 1000,
      skipped_causes: { unreadable: 1000, invalid: 0, unsupported: 0 },
    });
    expect(await store.ids('index')).toHaveLength(1000);
    expect(await store.get('index', 'doc-0500')).toEqual({ id: 'doc-0500', unreadable: 'unreadable' });
    await store.transaction(async (tx) => {
      for (const id of ids) await tx.delete('index', id);
    });
    expect(await store.ids('index')).toEqual([]);
    await store.close();
  });

  test('is unreadable when it is cut short, empty, or another document moved under its key', async () => {
    const values = new Map<string, Buffer>();
    const store = await addDamage(await createFolder(), ['a', 'b', 'c', 'd'], (value, id) => {
      values.set(id, value);
      if (id === 'a') return value.subarray(0, value.length - 1);
      if (id === 'b') return value.subarray(0, 10);
      if (id === 'c') return values.get('a')!;
      return value;
    });
    for (const id of ['a', 'b', 'c']) expect(await store.get('index', id)).toEqual({ id, unreadable: 'unreadable' });
    expect(await store.get('index', 'd')).toMatchObject({ body: { id: 'd' } });
    await store.close();
  });

  test('leaves the others readable', async () => {
    const store = await addDamage(await createFolder(), ['a', 'b'], (value, id) =>
      id === 'a' ? randomBytes(value.length) : value,
    );
    expect(await store.list('index', echoBody)).toMatchObject({ documents: [{ id: 'b' }], skipped: 1 });
    await store.close();
  });
});

describe('a damaged file', () => {
  const formatDataPath = (folder: string): string => join(folder, 'data.mdb');

  async function createFolderWithDocuments(): Promise<string> {
    const folder = await createFolder();
    const store = await openDocumentStore({ folder });
    await store.transaction(async (tx) => {
      for (let i = 0; i < 500; i++) await tx.put('index', `doc-${i}`, { text: 'x'.repeat(500) });
    });
    await store.close();
    return folder;
  }

  test.each([
    ['is empty', (file: string) => truncate(file, 0)],
    [
      'was cut in half',
      async (file: string) => truncate(file, Math.floor((await readFile(file)).length / 2 / 4096) * 4096),
    ],
    ['was cut to its first page', (file: string) => truncate(file, 4096)],
    ['holds text', (file: string) => writeFile(file, 'not a database\n'.repeat(2000))],
    ['lost its first meta page', async (file: string) => writeFile(file, (await readFile(file)).fill(0, 0, 4096))],
    ['lost both meta pages', async (file: string) => writeFile(file, (await readFile(file)).fill(0, 0, 8192))],
  ])('that %s keeps the service from starting, with one sentence and status 78', async (_, damage) => {
    const folder = await createFolderWithDocuments();
    await damage(formatDataPath(folder));
    const opening = openDocumentStore({ folder });
    await expect(opening).rejects.toMatchObject({ name: 'StartRefusal', exitStatus: 78 });
    await expect(opening).rejects.toThrow(/^The document store .*data\.mdb .*; no backup of it was found\.$/);
  });

  test('with bits flipped anywhere is refused or read without a wrong value', async () => {
    const folder = await createFolderWithDocuments();
    const intactBytes = await readFile(formatDataPath(folder));
    const random = seeded(4);
    const wholeText = JSON.stringify({ text: 'x'.repeat(500) });
    for (let mutant = 0; mutant < 6; mutant++) {
      const file = Buffer.from(intactBytes);
      for (let flip = 0; flip < 3; flip++) file[Math.floor(random() * file.length)]! ^= 1 << Math.floor(random() * 8);
      await writeFile(formatDataPath(folder), file);
      const store = await openDocumentStore({ folder }).catch((refusal: Error) => refusal);
      if (store instanceof Error) {
        expect(store.name).toBe('StartRefusal');
        continue;
      }
      const otherDocuments: unknown[] = [];
      for (const id of await store.ids('index')) {
        const document = await store.get('index', id); // undefined if the changed bit was part of a key
        if (document !== undefined && 'body' in document && JSON.stringify(document.body) !== wholeText)
          otherDocuments.push(document);
      }
      expect(otherDocuments).toEqual([]);
      await store.close();
    }
  });

  test('is checked by a process at each opening, unless nobody has written since this process closed it', async () => {
    const folder = await createFolderWithDocuments();
    const startedProcesses: ChildProcess[] = [];
    const note = (message: unknown) => void startedProcesses.push((message as { process: ChildProcess }).process);
    subscribe('child_process', note);
    const countWalks = async (): Promise<number> => {
      const before = startedProcesses.length;
      await (await openDocumentStore({ folder })).close();
      return startedProcesses.slice(before).filter(({ spawnargs }) => spawnargs.includes(folder)).length;
    };
    await countWalks(); // by now the clock of the file has advanced
    expect(await countWalks()).toBe(0);
    await writeFile(formatDataPath(folder), await readFile(formatDataPath(folder)));
    expect(await countWalks()).toBe(1);
    await rm(formatDataPath(folder));
    await cp(join(await createFolderWithDocuments(), 'data.mdb'), formatDataPath(folder));
    expect(await countWalks()).toBe(1);
    unsubscribe('child_process', note);
  });

  test('names the newest backup, and the backup opens', async () => {
    const folder = await createFolderWithDocuments();
    const backupsFolder = await createFolder();
    const store = await openDocumentStore({ folder });
    for (const name of ['2026-01-02', '2026-01-10']) {
      await mkdir(join(backupsFolder, name));
      const reader = openDocumentsReader(folder);
      await reader.copyTo(join(backupsFolder, name));
      await reader.close();
    }
    await store.close();
    await truncate(formatDataPath(folder), 0);
    await expect(openDocumentStore({ folder, backups: backupsFolder })).rejects.toThrow(
      `restore it from ${join(backupsFolder, '2026-01-10')}.`,
    );
    await rm(formatDataPath(folder));
    await cp(join(backupsFolder, '2026-01-10'), folder, { recursive: true });
    const restoredStore = await openDocumentStore({ folder, backups: backupsFolder });
    expect(await restoredStore.ids('index')).toHaveLength(500);
    await restoredStore.close();
  });
});

describe('free space', () => {
  async function openWith(space: VolumeSpace) {
    const folder = await createFolder();
    let current = space;
    let nowMs = 0;
    const freeSpace = watchFreeSpace(
      folder,
      { bytes: 1_000_000, fraction: 0.5 },
      { read: async () => current, monotonicMs: () => nowMs },
    );
    const changeVolume = (next: VolumeSpace): void => {
      current = next;
      nowMs += 251; // a measurement is valid for 250 ms
    };
    return { become: changeVolume, store: await openDocumentStore({ folder, freeSpace }) };
  }
  const put = (store: DocumentStore, id: string, reserve = false, kind: DocumentKind = 'index') =>
    store.transaction((tx) => tx.put(kind, id, { id }), { reserve });

  test('below the mark refuses writes with both numbers, keeps reading and deleting, and recovers', async () => {
    const { become, store } = await openWith({ freeBytes: 1e9, totalBytes: 1e9 });
    await put(store, 'a');
    become({ freeBytes: 900_000, totalBytes: 1e9 });
    await expect(put(store, 'b')).rejects.toMatchObject({ code: 'STORAGE_FULL', detail: { free_bytes: 900_000 } });
    expect(await store.get('index', 'a')).toMatchObject({ body: { id: 'a' } });
    expect(await store.get('index', 'b')).toBeUndefined();
    expect(await store.transaction((tx) => tx.delete('index', 'a'))).toBe(true);
    become({ freeBytes: 1e8, totalBytes: 1e9 });
    await put(store, 'c');
    expect(await store.ids('index')).toEqual(['c']);
    await store.close();
  });

  test('lets the end of accepted work use the reserve, except the last quarter', async () => {
    const { store } = await openWith({ freeBytes: 900_000, totalBytes: 1e9 });
    await expect(put(store, 'a')).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await put(store, 'b', true);
    await store.close();
    const last = await openWith({ freeBytes: 260_000, totalBytes: 1e9 });
    await expect(put(last.store, 'b', true)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await last.store.close();
  });

  test('counts pending writes of the same commit', async () => {
    const { store } = await openWith({ freeBytes: 2_000_000, totalBytes: 1e9 });
    const writes = Array.from({ length: 20 }, (_, i) =>
      store.transaction((tx) => tx.put('index', `doc-${i}`, { text: 'x'.repeat(100_000) })),
    );
    const outcomes = await Promise.allSettled(writes);
    // The limit is 1,000,000. Eight documents of 100,000 and the path to each are below the limit. Later writes are
    // refused.
    const isWritten = outcomes.map(({ status }) => status === 'fulfilled');
    expect(isWritten).toEqual(isWritten.toSorted((a, b) => Number(b) - Number(a)));
    expect((await store.ids('index')).length).toBe(8);
    await store.close();
  });

  test('refuses one of several changes and commits the others', async () => {
    const { store } = await openWith({ freeBytes: 1_100_000, totalBytes: 1e9 });
    const large = store.transaction((tx) => tx.put('index', 'large', { text: 'x'.repeat(200_000) }));
    const smallWrite = put(store, 'small');
    await expect(large).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await smallWrite;
    expect(await store.ids('index')).toEqual(['small']);
    await store.close();
  });
});
