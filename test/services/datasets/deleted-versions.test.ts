import { expect, test } from 'vitest';
import type { DataHistoryDocument } from '#domain/definition/datasets.js';
import {
  DELETED_PER_TRANSACTION,
  deleteDataVersions,
  deleteLeftovers,
  deleteVersions,
  getFirst,
  readHistory,
  recordDataVersion,
} from '#services/shared/store-documents.js';
import { type DocumentStore, formatNumberedId } from '#store/port.js';
import { createMemoryEngine } from '../../store/memory-engine.js';

const COUNT = 2 * DELETED_PER_TRANSACTION + 7;

async function writeVersions(documents: DocumentStore, latest: number): Promise<void> {
  const known_at = '2024-01-02T00:00:00.000000+00:00';
  const head = { latest, content_hash: 'c', known_at, readable_from: 1, copy: null };
  await documents.transaction(async (tx) => {
    await tx.put('data-history', 'm', head satisfies DataHistoryDocument);
    for (let version = 1; version <= latest; version++)
      await tx.put('data-version', formatNumberedId('m', version), { version });
  });
}

/** Serves several contents of a new store one after the other, as several imports would. */
async function serveVersions(documents: DocumentStore, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const draft = { datasetId: 'm', contentHash: `content ${i}`, source: 'import', previous: null } as const;
    const noChanges = { change: null, rows: null, forth: null, knownAt: '2024-01-03T00:00:00.000000+00:00' };
    await documents.transaction((tx) => recordDataVersion(tx, { ...draft, ...noChanges }, 1));
  }
}

const countStored = async (documents: DocumentStore): Promise<number> => (await documents.ids('data-version')).length;

test('the versions of a deleted store are deleted in batches, the head with the first', async () => {
  const documents = createMemoryEngine().open();
  await writeVersions(documents, COUNT);
  const last = await documents.transaction((tx) => deleteDataVersions(tx, 'm'));
  expect([await countStored(documents), last]).toEqual([
    COUNT - DELETED_PER_TRANSACTION,
    COUNT - DELETED_PER_TRANSACTION,
  ]);
  expect(await readHistory(documents, 'm')).toBeUndefined();
  await deleteVersions(documents, 'm', last);
  expect(await countStored(documents)).toBe(0);
});

test('the next start completes an interrupted deletion, and does not touch a new store with the id', async () => {
  const documents = createMemoryEngine().open();
  await writeVersions(documents, COUNT);
  await documents.transaction((tx) => deleteDataVersions(tx, 'm'));
  await serveVersions(documents, 3);
  await deleteLeftovers(documents);
  expect(await documents.ids('data-version')).toEqual(
    [1, 2, 3].map((version) => formatNumberedId('m', COUNT + version)),
  );
});

test('no number of a deleted store is given again, however often its id is used', async () => {
  const documents = createMemoryEngine().open();
  const writtenNames: string[] = [];
  for (const count of [2, 1, 3]) {
    await serveVersions(documents, count);
    writtenNames.push(...(await documents.ids('data-version')));
    await deleteVersions(documents, 'm', await documents.transaction((tx) => deleteDataVersions(tx, 'm')));
    expect(await countStored(documents)).toBe(0);
  }
  await documents.transaction((tx) => deleteDataVersions(tx, 'm')); // the store was never served
  await serveVersions(documents, 1);
  writtenNames.push(...(await documents.ids('data-version')));
  expect(writtenNames).toEqual([1, 2, 3, 4, 5, 6, 7].map((version) => formatNumberedId('m', version)));
  expect(getFirst(await readHistory(documents, 'm'))).toBe(7);
});

test('nothing is deleted of a store whose head is unreadable or lost', async () => {
  const documents = createMemoryEngine().open();
  await writeVersions(documents, 3);
  await documents.transaction(async (tx) => void (await tx.put('data-history', 'm', { latest: 'damaged' })));
  await deleteLeftovers(documents);
  expect(await countStored(documents)).toBe(3);
  await documents.transaction(async (tx) => {
    await tx.delete('data-history', 'm');
    await tx.put('store', 'm', {});
  });
  await deleteLeftovers(documents);
  expect(await countStored(documents)).toBe(3);
});
