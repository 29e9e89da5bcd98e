import { expect, test } from 'vitest';
import type { Authorship } from '#domain/definition/versions.js';
import { deleteDataVersions, recordDataVersion } from '#services/shared/store-documents.js';
import { signAuditLog } from '#store/history/audit.js';
import { createVersionedStore } from '#store/history/history.js';
import type { HomeFolders } from '#store/home/home.js';
import { verifyHome } from '#store/home/verify.js';
import { computeRunId, type DocumentEntry, type DocumentsReader, type DocumentStore } from '#store/port.js';
import { createSigningKey } from '#store/history/publication-log.js';
import { createMemoryEngine } from '../memory-engine.js';

const authorship: Authorship = { author: 'anna', note: null, requestId: 'r' };
const STORED_AT = '2026-01-02T00:00:00.000000+00:00';
const KEY = createSigningKey(STORED_AT);
const NEWEST = { run_id: 'EQ', artifacts: { columns: { name: 'newest' } } };

const recordServed = (documents: DocumentStore, datasetId: string, contentHash: string): Promise<void> =>
  documents.transaction((tx) => {
    const noFields = { previous: null, change: null, rows: null, forth: null };
    return recordDataVersion(tx, { datasetId, contentHash, source: 'import', knownAt: STORED_AT, ...noFields }, 1);
  });

/** Creates records of every kind of history: edits, a deletion, a purge, runs, contents of stores, signatures. */
async function createRecords(): Promise<readonly DocumentEntry[]> {
  const engine = createMemoryEngine();
  const documents = createVersionedStore(engine.open());
  const put = (id: string, name: string) =>
    documents.transaction((tx) => tx.put('index', id, { id, name }), { by: authorship });
  const seal = () => documents.transaction((tx) => signAuditLog(tx, KEY, STORED_AT));
  await documents.transaction((tx) => tx.put('signing-key', KEY.key_id, KEY));
  for (const name of ['a', 'b', 'c']) await put('EQ', name);
  await seal();
  for (const id of ['OLD', 'GONE']) await put(id, 'a');
  await documents.transaction((tx) => tx.delete('index', 'OLD'), { by: authorship });
  await documents.transaction((tx) => tx.delete('index', 'GONE'), { by: { ...authorship, purges: true } });
  await documents.transaction(async (tx) => {
    await tx.put('run', 'EQ', NEWEST);
    for (const id of ['one', 'two']) await tx.put('kept-run', `EQ/${id}`, { run_id: 'EQ' });
    await tx.put('run-list', 'EQ', { earlier: ['two', 'one'], published: ['one', computeRunId(NEWEST)] });
    await tx.put('store', 'm', { store_id: 'm', name: 'M' });
  });
  await seal();
  for (const content of ['a', 'b']) await recordServed(documents, 'm', content);
  await documents.transaction((tx) => deleteDataVersions(tx, 'm'));
  for (const content of ['c', 'd']) await recordServed(documents, 'm', content);
  await seal();
  const entries: DocumentEntry[] = [];
  for await (const entry of engine.reader().entries()) entries.push(entry);
  return entries;
}

/** Returns the errors found in documents. */
async function listFaults(entries: readonly DocumentEntry[]): Promise<string[]> {
  const reader: DocumentsReader = {
    async *entries() {
      yield* entries;
    },
    entry: async (key) => entries.find((entry) => entry.key === key),
    close: async () => {},
  };
  const parts = await verifyHome({ stores: '' } as HomeFolders, {
    openDocuments: async () => reader,
    digestArtifact: async () => ({ bytes: 0, sha256: '' }), // no document references an artifact
  });
  return parts.flatMap(({ part, damaged }) => damaged.map(({ name, reason }) => `${part} ${name}: ${reason}`));
}

test('each missing record of a history is found, whichever it is', async () => {
  const entries = await createRecords();
  expect(await listFaults(entries)).toEqual([]);
  const kinds = new Set(entries.map(({ kind }) => kind));
  expect(kinds.size).toBe(13);
  for (const missing of entries)
    expect(await listFaults(entries.filter((entry) => entry !== missing)), `${missing.kind} ${missing.id}`).not.toEqual(
      [],
    );
});

test('a missing record is reported by its name', async () => {
  const entries = await createRecords();
  const removeRecord = (kind: string, last: (ids: readonly string[]) => string | undefined) => {
    const id = last(entries.filter((entry) => entry.kind === kind).map((entry) => entry.id));
    return listFaults(entries.filter((entry) => entry.kind !== kind || entry.id !== id));
  };
  expect(await removeRecord('kept-run', () => 'EQ/two')).toEqual(['kept-run EQ: its earlier run two is missing']);
  expect(await removeRecord('run-list', () => 'EQ')).toEqual([
    'kept-run EQ: it has 2 earlier runs, but their list is missing',
  ]);
  expect(await removeRecord('run', () => 'EQ')).toEqual([
    `kept-run EQ: its published run ${computeRunId(NEWEST)} is missing`,
  ]);
  expect(await removeRecord('audit-seal', (ids) => ids.at(-1))).toEqual([
    expect.stringMatching(/^audit entry \d+: its signature is missing$/),
  ]);
  expect(await removeRecord('audit-seal', (ids) => ids[0])).toEqual([
    expect.stringMatching(/^audit entry \d+: the previous seal is missing$/),
  ]);
  expect(await removeRecord('version', () => 'index/EQ/0000000003')).toEqual([
    'history index/EQ: it has 2 versions; 3 were written',
  ]);
  expect(await removeRecord('index', () => 'EQ')).toEqual([
    'history index/EQ: the document is missing, but version 3 is not its deletion',
  ]);
});
