import { expect, test } from 'vitest';
import { DataHistoryDocument } from '#domain/documents/data-version-document.js';
import { FORGOTTEN_AT_ONCE, forgetAll, forgetDataVersions, forgetLeftovers } from '#services/datasets/data-history.js';
import { numberedId } from '#store/document-id.js';
import type { DocumentStore } from '#store/port.js';
import { createMemoryEngine } from '../../store/memory-engine.js';

const COUNT = 2 * FORGOTTEN_AT_ONCE + 7;

/** A store of so many versions. @param first the first that is there */
async function written(documents: DocumentStore, latest: number, first = 1): Promise<void> {
  const known_at = '2024-01-02T00:00:00.000000+00:00';
  const head = { latest, content_hash: 'c', known_at, readable_from: 1, copy: null };
  await documents.transaction(async (tx) => {
    await tx.put('data-history', 'm', head satisfies DataHistoryDocument);
    for (let version = first; version <= latest; version++)
      await tx.put('data-version', numberedId('m', version), { version });
  });
}

const left = async (documents: DocumentStore): Promise<number> => (await documents.ids('data-version')).length;

test('the versions of a deleted store are forgotten some at a time, the head with the first', async () => {
  const documents = createMemoryEngine().open();
  await written(documents, COUNT);
  const last = await documents.transaction((tx) => forgetDataVersions(tx, 'm'));
  expect([await left(documents), last]).toEqual([COUNT - FORGOTTEN_AT_ONCE, COUNT - FORGOTTEN_AT_ONCE]);
  expect(await documents.get('data-history', 'm')).toBeUndefined();
  await forgetAll(documents, 'm', last);
  expect(await left(documents)).toBe(0);
});

test('what a deletion that was cut off left goes at the next start, and nothing of a store that has the id by now', async () => {
  const documents = createMemoryEngine().open();
  await written(documents, COUNT);
  await documents.transaction((tx) => forgetDataVersions(tx, 'm'));
  await written(documents, 3);
  await forgetLeftovers(documents);
  expect(await documents.ids('data-version')).toEqual([1, 2, 3].map((version) => numberedId('m', version)));
});

test('nothing is forgotten of a store whose head cannot be read, or is lost', async () => {
  const documents = createMemoryEngine().open();
  await written(documents, 3);
  await documents.transaction(async (tx) => void (await tx.put('data-history', 'm', { latest: 'damaged' })));
  await forgetLeftovers(documents);
  expect(await left(documents)).toBe(3);
  await documents.transaction(async (tx) => {
    await tx.delete('data-history', 'm');
    await tx.put('store', 'm', {});
  });
  await forgetLeftovers(documents);
  expect(await left(documents)).toBe(3);
});
