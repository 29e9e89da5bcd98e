import { join } from 'node:path';
import { open } from 'lmdb';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { DOCUMENT_KINDS } from '#store/port.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { sealDocument } from '#store/lmdb/document-format.js';
import { openDocumentsReader } from '#store/lmdb/documents-reader.js';
import { migrateDatabase, openDatabaseDocuments } from '#store/postgres/open-documents.js';
import { makeLeastRole } from '../postgresql/least-role.js';
import { hasPostgresql, openTestDatabase } from '../postgresql/shared-postgresql.js';
import { openTemporaryFolders } from '../store/temporary-folder.js';

const createFolder = openTemporaryFolders();
const openRaw = (folder: string) =>
  open<Buffer, Buffer>({ path: folder, noSubdir: false, encoding: 'binary', keyEncoding: 'binary', maxDbs: 1 });

test('a store shows only the documents of its tenant, whatever the other documents are', async () => {
  const folder = join(await createFolder(), 'documents');
  const raw = openRaw(folder);
  for (const tenant of ['mai', 'main2', 'other', '']) {
    const key = `${tenant}\u0000index\u0000a`;
    await raw.put(Buffer.from(key), sealDocument(key, { id: 'a', tenant }, { schema: 1, time: 0 }).value);
  }
  await raw.close();
  const store = await openDocumentStore({ folder });
  expect(await store.get('index', 'a')).toBeUndefined();
  expect([await store.ids('index'), await store.list('index', (body) => body)]).toEqual([
    [],
    { documents: [], skipped: 0, skipped_causes: { unreadable: 0, invalid: 0, unsupported: 0 } },
  ]);
  await store.transaction((tx) => tx.put('index', 'a', { id: 'a', tenant: 'main' }));
  await store.transaction((tx) => tx.delete('index', 'a'));
  await store.close();
  const reader = openDocumentsReader(folder);
  const kinds = [];
  for await (const { kind } of reader.entries()) kinds.push(kind);
  expect(kinds).toEqual([undefined, undefined, undefined, undefined]);
  await reader.close();
  const secondHome = openRaw(folder);
  expect([...secondHome.getKeys()].map((key) => key.toString())).toHaveLength(4);
  await secondHome.close();
});

test('every document is stored under the tenant of the service', async () => {
  const folder = join(await createFolder(), 'documents');
  const store = await openDocumentStore({ folder });
  for (const kind of DOCUMENT_KINDS) await store.transaction((tx) => tx.put(kind, 'x', {}));
  await store.close();
  const raw = openRaw(folder);
  expect([...raw.getKeys()].map((key) => key.toString()).toSorted()).toEqual(
    DOCUMENT_KINDS.map((kind) => `main\u0000${kind}\u0000x`).toSorted(),
  );
  await raw.close();
});

test('a document moved under the key of another document is not served as that document', async () => {
  const folder = join(await createFolder(), 'documents');
  const raw = openRaw(folder);
  const { value } = sealDocument('main\u0000index\u0000a', { id: 'a' }, { schema: 1, time: 0 });
  await raw.put(Buffer.from('main\u0000index\u0000b'), value);
  await raw.put(Buffer.from('main\u0000key\u0000a'), value);
  await raw.close();
  const store = await openDocumentStore({ folder });
  expect([await store.get('index', 'b'), await store.get('key', 'a')]).toEqual([
    { id: 'b', unreadable: 'unreadable' },
    { id: 'a', unreadable: 'unreadable' },
  ]);
  await store.close();
});

/** Opens a new database on the test server, with a role that serves it. */
async function openTenant() {
  const database = await openTestDatabase();
  const owner = new Client(database.url);
  await owner.connect();
  await migrateDatabase({ url: database.url });
  const url = await makeLeastRole(owner, { url: database.url, role: database.name, schema: 'divisor' });
  return { ...database, owner, url };
}

/** Query that returns a statement for each table, sequence and function of a tenant. */
const ALL_STATEMENTS = `
  SELECT format(statement, relname) AS sql FROM pg_class, unnest(CASE relkind
      WHEN 'S' THEN ARRAY['SELECT nextval(''divisor.%I'')']
      ELSE ARRAY['SELECT FROM divisor.%I', 'DELETE FROM divisor.%I'] END) AS statement
    WHERE relnamespace = 'divisor'::regnamespace AND relkind IN ('r', 'S')
  UNION ALL SELECT format('SELECT divisor.%I()', proname) FROM pg_proc WHERE pronamespace = 'divisor'::regnamespace`;

test.skipIf(!hasPostgresql)('the role of one tenant cannot access another tenant on the same server', async () => {
  const [one, other] = [await openTenant(), await openTenant()];
  const stores = [];
  for (const { url } of [one, other]) stores.push(await openDatabaseDocuments({ place: { url }, onFailure: () => {} }));
  for (const kind of DOCUMENT_KINDS) await stores[0]!.transaction((tx) => tx.put(kind, 'x', {}));
  for (const kind of DOCUMENT_KINDS)
    expect([kind, await stores[1]!.ids(kind)]).toEqual([kind, kind === 'stored-forms' ? ['documents'] : []]);
  for (const store of stores) await store.close();

  const statements = (await one.owner.query<{ sql: string }>(ALL_STATEMENTS)).rows.map(({ sql }) => sql);
  expect(statements.length).toBeGreaterThan(20);
  const misplacedUrl = new URL(other.url);
  misplacedUrl.pathname = `/${one.name}`;
  const intruder = new Client(misplacedUrl.href);
  await intruder.connect();
  const codes = [];
  for (const sql of statements) codes.push(await intruder.query(sql).catch(({ code }: { code: string }) => code));
  expect(new Set(codes)).toEqual(new Set(['42501'])); // insufficient_privilege
  await intruder.end();
  for (const { owner, drop } of [one, other]) {
    await owner.end();
    await drop();
  }
});
