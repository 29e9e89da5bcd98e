import { expect, test } from 'vitest';
import { canonicalJson } from '#domain/canonical-json.js';
import { VERSIONED_KINDS, type Authorship, type Subject } from '#domain/documents/version-document.js';
import { headOf, versionOf } from '#store/history/history.js';
import { adoptDocuments, createVersionedStore } from '#store/history/versioned-store.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import type { DocumentStore } from '#store/port.js';
import { seeded } from '../../seeded.js';
import { IS_SOAK } from '../../soak.js';
import { flipDocument } from '../flip-document.js';
import { temporaryFolders } from '../temporary-folder.js';
import { join } from 'node:path';

const newFolder = temporaryFolders();
const INDEX: Subject = { kind: 'index', id: 'EQ' };

/** A versioned store whose clock goes a second further with each look at it. */
async function opened(folder: string, startMs = 0): Promise<DocumentStore> {
  let time = startMs;
  return createVersionedStore(await openDocumentStore({ folder }), () => (time += 1000));
}

const by = (over: Partial<Authorship> = {}): Authorship => ({ author: 'anna', note: null, requestId: 'r', ...over });

async function actionsOf(store: DocumentStore, subject: Subject): Promise<string[]> {
  const { latest } = (await headOf(store, subject))!;
  const versions = await Promise.all(Array.from({ length: latest }, (_, i) => versionOf(store, subject, i + 1)));
  return versions.map((version) => (version === 'unreadable' || version === undefined ? 'lost' : version.action));
}

test('the state of every past time is what was answered then, over random edits, restorations and deletions', async () => {
  const random = seeded(11);
  const writes = IS_SOAK ? 10_000 : 120;
  const folder = await newFolder();
  let store = await opened(folder);
  const states: { readonly key: string; readonly answered: string | null; readonly versions: number }[] = [];
  const subjects = VERSIONED_KINDS.flatMap((kind) => [1, 2].map((n): Subject => ({ kind, id: `D${n}` })));
  for (let i = 0; i < writes; i++) {
    const subject = subjects[Math.floor(random() * subjects.length)]!;
    const { kind, id } = subject;
    const draw = random();
    const head = await headOf(store, subject);
    const earlier = head && (await versionOf(store, subject, 1 + Math.floor(random() * head.latest)));
    if (draw < 0.15) await store.transaction((tx) => tx.delete(kind, id), { by: by() });
    else if (draw < 0.35 && typeof earlier === 'object' && earlier.content !== null) {
      const body: unknown = JSON.parse(earlier.content);
      await store.transaction((tx) => tx.put(kind, id, body), { by: by({ restores: true }) });
    } else {
      const body = { store_id: id, name: `n${Math.floor(random() * 4)}`, source: random() < 0.5 ? null : `/p${i}` };
      await store.transaction((tx) => tx.put(kind, id, body), { by: by() });
    }
    const found = await store.get(kind, id);
    const answered = found === undefined || 'unreadable' in found ? null : canonicalJson(found.body);
    states.push({ key: `${kind}/${id}`, answered, versions: (await headOf(store, subject))?.latest ?? 0 });
    if (i % 40 === 39) {
      await store.close();
      store = await opened(folder, (i + 1) * 1_000_000);
    }
  }
  for (const { key, answered, versions } of states) {
    const [kind, id] = key.split('/') as [Subject['kind'], string];
    const version = versions === 0 ? undefined : await versionOf(store, { kind, id }, versions);
    expect(version).not.toBe('unreadable');
    const content = typeof version === 'object' ? version.content : null;
    // Of a store what was declared is kept: every field of it that the test writes.
    const stateOf = (text: string | null) => {
      if (text === null) return null;
      return kind === 'store' ? declaredIn(text) : canonicalJson(JSON.parse(text));
    };
    expect(stateOf(content)).toBe(stateOf(answered));
  }
  await store.close();
}, 600_000);

/** The members of a store's version that are not null beside those that the test writes. */
function declaredIn(content: string): string {
  const { store_id, name, source } = JSON.parse(content) as Readonly<Record<string, unknown>>;
  return canonicalJson({ store_id, name, source });
}

test('a document of before there were versions becomes version 1 when the store is opened', async () => {
  const folder = await newFolder();
  const plain = await openDocumentStore({ folder });
  const etag = await plain.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ' }));
  await plain.transaction((tx) => tx.put('run', 'EQ', { run_id: 'EQ' }));
  const { updatedAt } = (await plain.get('index', 'EQ')) as { readonly updatedAt: string };
  await plain.close();
  const store = await opened(folder);
  expect(await adoptDocuments(store)).toBe(1);
  expect(await adoptDocuments(store)).toBe(0);
  expect(await versionOf(store, INDEX, 1)).toMatchObject({
    etag,
    at: updatedAt,
    author: 'local',
    action: 'created',
    content: '{"id":"EQ"}',
  });
  await store.close();
});

test('a document of before there were versions keeps its first content when it is written before that', async () => {
  const folder = await newFolder();
  const plain = await openDocumentStore({ folder });
  await plain.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ' }));
  const store = createVersionedStore(plain);
  await store.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ', name: 'Equal' }));
  expect(await actionsOf(store, INDEX)).toEqual(['created', 'updated']);
  expect(await versionOf(store, INDEX, 1)).toMatchObject({ content: '{"id":"EQ"}' });
  await store.close();
});

test('the same content makes no version; a deleted id that is created again goes on with its numbers', async () => {
  const store = await opened(await newFolder());
  const put = (body: object) => store.transaction((tx) => tx.put('index', 'EQ', body), { by: by() });
  await put({ id: 'EQ', name: 'a' });
  await put({ name: 'a', id: 'EQ' });
  await store.transaction((tx) => tx.delete('index', 'EQ'));
  await store.transaction((tx) => tx.delete('index', 'EQ'));
  await put({ id: 'EQ', name: 'a' });
  expect(await actionsOf(store, INDEX)).toEqual(['created', 'deleted', 'created']);
  await store.close();
});

test('what a load learns of a store makes no version, what a client declares does', async () => {
  const store = await opened(await newFolder());
  const put = (over: object) =>
    store.transaction((tx) => tx.put('store', 'us', { store_id: 'us', name: 'US', ...over }));
  await put({ content_hash: 'x', active: true });
  await put({ content_hash: 'y', active: false });
  await put({ content_hash: 'y', active: false, adjustment: 'splits' });
  expect(await actionsOf(store, { kind: 'store', id: 'us' })).toEqual(['created', 'updated']);
  await store.close();
});

test('a transaction that fails leaves no version, one that purges leaves none at all', async () => {
  const store = await opened(await newFolder());
  await store.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ' }));
  const failing = store.transaction(async (tx) => {
    await tx.put('index', 'EQ', { id: 'EQ', name: 'lost' });
    throw new Error('refused');
  });
  await expect(failing).rejects.toThrow('refused');
  expect(await actionsOf(store, INDEX)).toEqual(['created']);
  await store.transaction((tx) => tx.delete('index', 'EQ'), { by: by({ purges: true }) });
  expect([await store.ids('history'), await store.ids('version')]).toEqual([[], []]);
  await store.close();
});

test('a damaged version is refused alone, and a damaged head loses no number', async () => {
  const folder = await newFolder();
  const documents = join(folder, 'documents');
  const first = await opened(documents);
  for (const name of ['a', 'b', 'c']) await first.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ', name }));
  await first.close();
  await flipDocument(folder, 'main\0version\0index/EQ/0000000002');
  await flipDocument(folder, 'main\0history\0index/EQ');
  const store = await opened(documents);
  expect(await versionOf(store, INDEX, 2)).toBe('unreadable');
  expect(await versionOf(store, INDEX, 3)).toMatchObject({ content: '{"id":"EQ","name":"c"}' });
  await store.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ', name: 'd' }));
  expect(await actionsOf(store, INDEX)).toEqual(['created', 'lost', 'updated', 'updated']);
  await store.close();
});

test('a version of a definition takes less room than the definition', async () => {
  const store = await opened(await newFolder());
  const rule = { type: 'TopN', params: { field: 'MARKET_CAP', count: 100, buffer_in: 90, buffer_out: 110 } };
  const body = { id: 'EQ', name: 'Large hundred', pipeline: { selection: Array.from({ length: 12 }, () => rule) } };
  await store.transaction((tx) => tx.put('index', 'EQ', body));
  const stored = await store.get('version', 'index/EQ/0000000001');
  expect(JSON.stringify(stored).length).toBeLessThan(canonicalJson(body).length);
  await store.close();
});

test('a document whose version is deflated by another thread is kept as a short one is', async () => {
  const store = await opened(await newFolder());
  const body = { id: 'EQ', name: 'n', members: Array.from({ length: 20_000 }, (_, i) => `N${i}`) };
  await store.transaction((tx) => tx.put('index', 'EQ', body), { by: by() });
  await store.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ' }), { by: by() });
  expect(JSON.parse(((await versionOf(store, INDEX, 1)) as { readonly content: string }).content)).toEqual(body);
  expect((await headOf(store, INDEX))!.latest).toBe(2);
  await store.close();
});
