import {
  createHistoryCheck,
  createVersionedStore,
  findFirstAuthor,
  loadVersion,
  readHead,
  type StoredVersion,
} from '#store/history/history.js';
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { toCanonicalJson } from '#domain/base/json.js';
import { type Authorship, type Subject, VERSIONED_KINDS } from '#domain/definition/versions.js';
import { readAuditHead } from '#store/history/audit.js';
import { type DocumentStore, type DocumentTransaction, formatTimestamp, getOwner, parseNumber } from '#store/port.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { seeded } from '../../seeded.js';
import { flipDocument } from '../flip-document.js';
import { IS_SOAK } from '../../soak.js';
import { openTemporaryFolders } from '../temporary-folder.js';
import { join } from 'node:path';

const createFolder = openTemporaryFolders();
/** Number of writes on five documents of each kind. Each document is written, restored and deleted many times. */
const WRITES = IS_SOAK ? 10_000 : 3000;
const INDEX: Subject = { kind: 'index', id: 'EQ' };

/** Opens a versioned store. Its clock advances by a second each time it is read. */
async function openVersioned(folder: string, startMs = 0): Promise<DocumentStore> {
  let time = startMs;
  return createVersionedStore(await openDocumentStore({ folder }), () => (time += 1000));
}

const createAuthorship = (members: Partial<Authorship> = {}): Authorship => ({
  author: 'anna',
  note: null,
  requestId: 'r',
  ...members,
});

async function listActions(store: DocumentStore, subject: Subject): Promise<string[]> {
  const { latest } = (await readHead(store, subject))!;
  const versions = await Promise.all(Array.from({ length: latest }, (_, i) => loadVersion(store, subject, i + 1)));
  return versions.map((version) => (typeof version === 'object' ? version.action : 'lost'));
}

/** Performs a random write of a document: it edits the document, restores an earlier version, or deletes it. */
async function performRandomWrite(store: DocumentStore, { kind, id }: Subject, random: () => number): Promise<void> {
  const draw = random();
  if (draw < 0.15) return void (await store.transaction((tx) => tx.delete(kind, id), { by: createAuthorship() }));
  const head = draw < 0.35 ? await readHead(store, { kind, id }) : undefined;
  const earlierVersion = head && (await loadVersion(store, { kind, id }, 1 + Math.floor(random() * head.latest)));
  const isRestored = typeof earlierVersion === 'object' && earlierVersion.content !== null;
  const name = `n${Math.floor(random() * 4)}`;
  const body: unknown = isRestored
    ? JSON.parse(earlierVersion.content!)
    : { store_id: id, name, source: random() < 0.5 ? null : `/p${random()}` };
  await store.transaction((tx) => tx.put(kind, id, body), { by: createAuthorship(isRestored ? { restores: 1 } : {}) });
}

async function readCurrentVersion(store: DocumentStore, { kind, id }: Subject): Promise<string | null> {
  const document = await store.get(kind, id);
  return document === undefined || 'unreadable' in document ? null : readState(kind, JSON.stringify(document.body));
}

/** Returns the state of a document as canonical text. For a store it includes only the members that the tests write. */
function readState(kind: Subject['kind'], text: string | null): string | null {
  if (text === null) return null;
  return kind === 'store' ? readDeclaredSource(text) : toCanonicalJson(JSON.parse(text));
}

const createSubjects = (count: number): Subject[] =>
  VERSIONED_KINDS.flatMap((kind) => Array.from({ length: count }, (_, n): Subject => ({ kind, id: `D${n}` })));

test('the state at every past time equals the answers at that time, over random edits, restorations and deletions', async () => {
  const random = seeded(11);
  const folder = await createFolder();
  let store = await openVersioned(folder);
  const states: { readonly subject: Subject; readonly answered: string | null; readonly versions: number }[] = [];
  const subjects = createSubjects(2);
  for (let i = 0; i < 80; i++) {
    const subject = subjects[Math.floor(random() * subjects.length)]!;
    await performRandomWrite(store, subject, random);
    const response = await readCurrentVersion(store, subject);
    states.push({ subject, answered: response, versions: (await readHead(store, subject))?.latest ?? 0 });
    if (i % 40 === 39) {
      await store.close();
      store = await openVersioned(folder, (i + 1) * 1_000_000);
    }
  }
  for (const { subject, answered, versions } of states) {
    const version = versions === 0 ? undefined : await loadVersion(store, subject, versions);
    expect(version).not.toBe('unreadable');
    expect(readState(subject.kind, typeof version === 'object' ? version.content : null)).toBe(answered);
  }
  await store.close();
}, 600_000);

test(`of ${WRITES} random writes the state of each time is recomputed from the times of the versions`, async () => {
  const random = seeded(12);
  let time = 0;
  const store = createVersionedStore(mapStore(), () => (time += 1));
  const subjects = createSubjects(5);
  const pick = (): Subject => subjects[Math.floor(random() * subjects.length)]!;
  const moments: { readonly at: string; readonly subject: Subject; readonly answered: string | null }[] = [];
  for (let i = 0; i < WRITES; i++) {
    await performRandomWrite(store, pick(), random);
    const subject = pick(); // any subject, because every subject was written earlier
    moments.push({ at: formatTimestamp(time), subject, answered: await readCurrentVersion(store, subject) });
  }
  const histories = new Map<Subject, readonly StoredVersion[]>();
  for (const subject of subjects) histories.set(subject, await listVersions(store, subject));
  for (const { at, subject, answered } of moments) {
    const version = histories.get(subject)!.findLast((each) => each.at <= at);
    expect(readState(subject.kind, version?.content ?? null)).toBe(answered);
  }
  expect((await readAuditHead(store)).seq).toBe([...histories.values()].reduce((sum, { length }) => sum + length, 0));
});

async function listVersions(store: DocumentStore, subject: Subject): Promise<StoredVersion[]> {
  const { latest } = (await readHead(store, subject))!;
  const result = await Promise.all(Array.from({ length: latest }, (_, i) => loadVersion(store, subject, i + 1)));
  return result.map((version) => {
    if (typeof version !== 'object') throw new Error('a version is lost');
    return version;
  });
}

/** Creates a document store in a map. If an error occurs, earlier changes remain. Ten thousand writes take a second. */
function mapStore(): DocumentStore {
  const texts = new Map<string, string>();
  const numbers = new Map<string, number>();
  const reads = {
    get: async (kind: string, id: string) => {
      const text = texts.get(`${kind} ${id}`);
      return text === undefined ? undefined : { id, body: JSON.parse(text) as unknown, etag: '', updatedAt: '' };
    },
    ids: async () => [],
    lastNumber: async (kind: string, owner: string) => numbers.get(`${kind} ${owner}`) ?? 0,
  };
  const tx: DocumentTransaction = {
    ...reads,
    async put(kind, id, body) {
      const text = toCanonicalJson(body);
      texts.set(`${kind} ${id}`, text);
      if (kind === 'version') numbers.set(`${kind} ${getOwner(id)}`, parseNumber(id));
      return createHash('sha256').update(text).digest('hex');
    },
    delete: async (kind, id) => texts.delete(`${kind} ${id}`),
    publish: () => {},
  };
  const refuseCall = (): never => {
    throw new Error('nobody asks for it');
  };
  return {
    ...reads,
    numbers: refuseCall,
    revision: refuseCall,
    list: refuseCall,
    subscribe: refuseCall,
    close: async () => {},
    transaction: (change) => change(tx),
  };
}

/** Returns the members of a store that the tests write. */
function readDeclaredSource(content: string): string {
  const { store_id, name, source } = JSON.parse(content) as Readonly<Record<string, unknown>>;
  return toCanonicalJson({ store_id, name, source });
}

test('equal content adds no version; an id that is deleted and created again continues its numbers', async () => {
  const store = await openVersioned(await createFolder());
  const put = (body: object) => store.transaction((tx) => tx.put('index', 'EQ', body), { by: createAuthorship() });
  await put({ id: 'EQ', name: 'a' });
  await put({ name: 'a', id: 'EQ' });
  await store.transaction((tx) => tx.delete('index', 'EQ'));
  await store.transaction((tx) => tx.delete('index', 'EQ'));
  await put({ id: 'EQ', name: 'a' });
  expect(await listActions(store, INDEX)).toEqual(['created', 'deleted', 'created']);
  await store.close();
});

test('facts that a load records about a store create no version, declarations of a client do', async () => {
  const store = await openVersioned(await createFolder());
  const put = (members: object) =>
    store.transaction((tx) => tx.put('store', 'us', { store_id: 'us', name: 'US', ...members }));
  await put({ content_hash: 'x', active: true });
  await put({ content_hash: 'y', active: false });
  await put({ content_hash: 'y', active: false, adjustment: 'splits' });
  expect(await listActions(store, { kind: 'store', id: 'us' })).toEqual(['created', 'updated']);
  await store.close();
});

test('a failed transaction creates no version, and a purging one leaves none', async () => {
  const store = await openVersioned(await createFolder());
  await store.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ' }));
  const failingWrite = store.transaction(async (tx) => {
    await tx.put('index', 'EQ', { id: 'EQ', name: 'lost' });
    throw new Error('refused');
  });
  await expect(failingWrite).rejects.toThrow('refused');
  expect(await listActions(store, INDEX)).toEqual(['created']);
  await store.transaction((tx) => tx.delete('index', 'EQ'), { by: createAuthorship({ purges: true }) });
  expect(await store.ids('version')).toEqual([]);
  // The audit log refers to version 1. So another state gets another number.
  await store.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ' }));
  expect(await store.ids('version')).toEqual(['index/EQ/0000000002']);
  const check = createHistoryCheck();
  for (const kind of ['history', 'version', 'index', 'audit'] as const)
    for (const id of await store.ids(kind)) {
      const document = await store.get(kind, id);
      expect(check.look({ kind, id, body: (document as { readonly body: unknown }).body })).toBeUndefined();
    }
  expect(check.gaps()).toEqual([]);
  await store.close();
});

test('only a damaged version is refused, and a damaged head loses no number', async () => {
  const folder = await createFolder();
  const documentsFolder = join(folder, 'documents');
  const first = await openVersioned(documentsFolder);
  for (const name of ['a', 'b', 'c']) await first.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ', name }));
  await first.close();
  await flipDocument(folder, 'main\0version\0index/EQ/0000000002');
  await flipDocument(folder, 'main\0history\0index/EQ');
  const store = await openVersioned(documentsFolder);
  expect(await loadVersion(store, INDEX, 2)).toBe('unreadable');
  expect(await loadVersion(store, INDEX, 3)).toMatchObject({ content: '{"id":"EQ","name":"c"}' });
  await store.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ', name: 'd' }));
  expect(await listActions(store, INDEX)).toEqual(['created', 'lost', 'updated', 'updated']);
  await store.close();
});

test('a version of a long definition needs less space than the definition', async () => {
  const store = await openVersioned(await createFolder());
  const rule = { type: 'TopN', params: { field: 'MARKET_CAP', count: 100, buffer_in: 90, buffer_out: 110 } };
  const body = { id: 'EQ', name: 'Large hundred', pipeline: { selection: Array.from({ length: 40 }, () => rule) } };
  await store.transaction((tx) => tx.put('index', 'EQ', body));
  const document = await store.get('version', 'index/EQ/0000000001');
  expect(JSON.stringify(document).length).toBeLessThan(toCanonicalJson(body).length);
  await store.close();
});

test('a document with a version deflated by another thread is stored like a short one', async () => {
  const store = await openVersioned(await createFolder());
  const body = { id: 'EQ', name: 'n', members: Array.from({ length: 20_000 }, (_, i) => `N${i}`) };
  await store.transaction((tx) => tx.put('index', 'EQ', body), { by: createAuthorship() });
  await store.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ' }), { by: createAuthorship() });
  expect(JSON.parse(((await loadVersion(store, INDEX, 1)) as { readonly content: string }).content)).toEqual(body);
  expect((await readHead(store, INDEX))!.latest).toBe(2);
  await store.close();
});

test('the limit of versions keeps the newest, their numbers and the first author, and nothing is reported as missing', async () => {
  const engine = await openDocumentStore({ folder: await createFolder() });
  const all = createVersionedStore(engine);
  const put = (store: DocumentStore, n: number, author: string) =>
    store.transaction((tx) => tx.put('index', 'EQ', { n }), { by: createAuthorship({ author, keyId: author }) });
  for (let n = 1; n <= 5; n++) await put(all, n, n === 1 ? 'owner' : 'anna');
  const store = createVersionedStore(engine, Date.now, { versionsKept: 3 });
  await put(store, 6, 'anna');
  expect(await readHead(store, INDEX)).toEqual({ latest: 6, purged: 3 });
  await store.transaction((tx) => tx.delete('index', 'EQ'), { by: createAuthorship() });
  await put(store, 7, 'bert');
  expect(await readHead(store, INDEX)).toEqual({ latest: 8, purged: 5 });
  expect([await loadVersion(store, INDEX, 5), await loadVersion(store, INDEX, 6)]).toMatchObject([
    undefined,
    { version: 6 },
  ]);
  expect(await findFirstAuthor(store, INDEX)).toEqual({ author: 'owner', key_id: 'owner' });
  const check = createHistoryCheck();
  for (const kind of ['history', 'version', 'index', 'audit'] as const)
    await store.list(kind, (body, id) => expect(check.look({ kind, id, body })).toBeUndefined());
  expect(check.gaps()).toEqual([]);
  await store.transaction((tx) => tx.delete('index', 'EQ'), { by: createAuthorship({ purges: true }) });
  await put(store, 8, 'carl');
  expect(await findFirstAuthor(store, INDEX)).toEqual({ author: 'carl', key_id: 'carl' });
  await engine.close();
});
