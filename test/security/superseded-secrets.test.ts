import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSigningKeys } from '#services/publication/publications.js';
import {
  createHistoryCheck,
  createVersionedStore,
  loadVersion,
  packContent,
  readHead,
} from '#store/history/history.js';
import { DOCUMENT_KINDS, type DocumentEngine, formatNumberedId } from '#store/port.js';
import { convertDocuments } from '#store/stored-forms.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { createSecretBox } from '#store/secret-box.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { hash } from 'node:crypto';
import { hasPostgresql, openTestSchema } from '../postgresql/shared-postgresql.js';
import { createTestContext } from '../services/context.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { runHere } from '../cli/process.js';

const SUBJECT = { kind: 'store', id: 'db' } as const;
const formatDatabaseUrl = (password: string) => `postgresql://reader:${password}@db.example/prices`;
const CREATED_AT = '2026-01-01T00:00:00.000000+00:00';

/** Returns a store with its password in the form of release 0.2.0, which had fewer members. */
const declareStore = (password: string) => ({
  store_id: 'db',
  name: 'Db',
  kind: 'database',
  source: formatDatabaseUrl(password),
});
const createStoreSource = (password: string) => ({
  ...declareStore(password),
  location: formatDatabaseUrl(password),
  active: false,
});

/** Writes data that earlier releases left: a version with each password, and a signing key that was replaced. */
async function storeSupersededSecrets(documents: DocumentEngine, passwords: readonly string[]): Promise<void> {
  await documents.transaction(async (tx) => {
    for (const [i, password] of passwords.entries()) {
      const content = toCanonicalJson(declareStore(password));
      await tx.put('version', formatNumberedId('store/db', i + 1), {
        version: i + 1,
        etag: hash('sha256', content, 'hex'),
        at: CREATED_AT,
        author: 'local',
        note: null,
        action: i === 0 ? 'created' : 'updated',
        request_id: '',
        content: await packContent(content),
      });
    }
    await tx.put('history', 'store/db', { latest: 1 });
    await tx.put('store', 'db', createStoreSource(passwords.at(-1)!));
    const key = {
      key_id: 'a'.repeat(16),
      public_key: 'cHVi',
      private_key: 'private-of-before',
      valid_from: CREATED_AT,
    };
    await tx.put('signing-key', key.key_id, { ...key, valid_until: CREATED_AT });
  });
}

/** Returns the stored content without the documents of a kind. The versions of the store are unpacked. */
async function readEverythingBut(documents: DocumentEngine, excluded: string): Promise<string> {
  const texts: string[] = [];
  for (const kind of DOCUMENT_KINDS)
    if (kind !== excluded) texts.push(JSON.stringify((await documents.list(kind, (body) => body)).documents));
  const head = await readHead(documents, SUBJECT);
  for (let number = 1; number <= (head?.latest ?? 0); number++)
    texts.push(JSON.stringify(await loadVersion(documents, SUBJECT, number)));
  return texts.join('\n');
}

async function listGaps(documents: DocumentEngine) {
  const check = createHistoryCheck();
  const gaps: string[] = [];
  for (const kind of ['history', 'version', 'store', 'audit'] as const)
    await documents.list(kind, (body, id) => {
      const reason = check.look({ kind, id, body });
      if (reason !== undefined) gaps.push(`${kind} ${id}: ${reason}`);
      return body;
    });
  return [...gaps, ...check.gaps()];
}

const ENGINES: Readonly<Record<string, () => Promise<{ open(): Promise<DocumentEngine>; close(): Promise<void> }>>> = {
  async LMDB() {
    const folder = await createTemporaryFolder();
    return { open: () => openDocumentStore({ folder }), close: async () => {} };
  },
  ...(hasPostgresql && {
    async PostgreSQL() {
      const world = await openTestSchema();
      return { open: () => openPostgresDocuments({ ...world, database: world.another() }), close: () => world.drop() };
    },
  }),
};

describe.each(Object.keys(ENGINES))('in %s', (name) => {
  test('passwords and private keys of earlier releases are erased, and the history remains complete', async () => {
    const world = await ENGINES[name]!();
    const documents = await world.open();
    await storeSupersededSecrets(documents, ['first-pass', 'second-pass', 'third-pass']);
    expect(await readEverythingBut(documents, 'store')).toMatch(/first-pass.*second-pass/s);
    await convertDocuments(documents);
    const text = await readEverythingBut(documents, 'store');
    expect(text).not.toMatch(/first-pass|second-pass|third-pass|private-of-before/);
    expect(text).toContain('reader:***@db.example');
    expect(await listGaps(documents)).toEqual([]);
    await documents.close();
    await world.close();
  });

  test('another password creates no version and is logged; a replaced signing key has no private part', async () => {
    const world = await ENGINES[name]!();
    const documents = await world.open();
    const versionedStore = createVersionedStore(documents);
    const by = { author: 'anna', note: null, requestId: 'r' };
    for (const password of ['first-pass', 'second-pass'])
      await versionedStore.transaction((tx) => tx.put('store', 'db', createStoreSource(password)), { by });
    expect(await readHead(documents, SUBJECT)).toEqual({ latest: 1, purged: 0 });
    const { documents: entries } = await documents.list(
      'audit',
      (body) => body as { action: string; version: unknown },
    );
    expect(entries.map(({ action, version }) => [action, version])).toEqual([
      ['created', 1],
      ['updated', null],
    ]);
    expect(await readEverythingBut(documents, 'store')).not.toMatch(/first-pass|second-pass/);
    expect(await listGaps(documents)).toEqual([]);

    const keys = createSigningKeys(
      createTestContext({
        documents: versionedStore,
        timestamp: () => CREATED_AT,
        secrets: createSecretBox(undefined),
      }),
    );
    const before = await keys.current(by);
    await keys.rotate(by);
    expect(JSON.stringify((await documents.list('signing-key', (body) => body)).documents)).not.toContain(
      before.private_key,
    );
    expect((await keys.current()).private_key).not.toBe('');
    await documents.close();
    await world.close();
  });
});

test('a backup of a home that was opened since contains none of them', async () => {
  const base = await createTemporaryFolder();
  const home = join(base, 'home');
  const folder = join(home, 'documents');
  await runHere(['keys', 'list', '--home', home]);
  const before = await openDocumentStore({ folder });
  const passwords = Array.from({ length: 30 }, (_, i) => `plain-pass-${i}-`);
  await storeSupersededSecrets(before, passwords);
  await convertDocuments(before);
  await before.transaction((tx) => tx.put('store', 'db', createStoreSource('kept')));
  await before.close();
  const backupFolder = join(base, 'backup');
  expect((await runHere(['backup', backupFolder, '--home', home])).status).toBe(0);
  const dataText = await readFile(join(backupFolder, 'documents', 'data.mdb'), 'latin1');
  expect(dataText).toContain(':kept@');
  expect(dataText).not.toMatch(/plain-pass-|private-of-before/);
});
