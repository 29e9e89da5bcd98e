import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AuditEntry } from '#domain/documents/audit-document.js';
import { auditBatches, auditHead } from '#store/audit/log.js';
import { createAuditCheck, verifyAudit } from '#store/audit/verify-audit.js';
import { createVersionedStore } from '#store/history/versioned-store.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import type { DocumentStore } from '#store/port.js';
import { temporaryFolders } from './temporary-folder.js';

const newFolder = temporaryFolders();
const by = { author: 'anna', note: 'why', requestId: 'r1' };

async function opened(): Promise<DocumentStore> {
  let time = 0;
  return createVersionedStore(
    await openDocumentStore({ folder: join(await newFolder(), 'documents') }),
    () => (time += 1000),
  );
}

async function entriesOf(documents: DocumentStore): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for await (const batch of auditBatches(documents, { after: 0, head: await auditHead(documents) }))
    entries.push(...batch);
  return entries;
}

/** A log of six writes. */
async function sixWrites(): Promise<{ readonly entries: AuditEntry[]; readonly head: string }> {
  const documents = await opened();
  const put = (body: object, over: object = {}) =>
    documents.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ', ...body }), { by: { ...by, ...over } });
  await put({ name: 'a' });
  await put({ name: 'a' }); // changes nothing
  await put({ name: 'b' });
  await put({ name: 'a' }, { restores: true });
  await documents.transaction((tx) => tx.put('run', 'EQ', { run_id: 'EQ' }));
  await documents.transaction((tx) => tx.put('job', 'backtest:EQ', {})); // no document of anybody's
  await documents.transaction((tx) => tx.delete('index', 'EQ'), { by });
  await documents.transaction((tx) => tx.delete('index', 'EQ'), { by: { ...by, purges: true } });
  const entries = await entriesOf(documents);
  const { hash } = await auditHead(documents);
  await documents.close();
  return { entries, head: hash };
}

test('each write is logged once, with who made it, what became of the document, and its version', async () => {
  const { entries } = await sixWrites();
  expect(entries.map(({ action, kind, version }) => [action, kind, version])).toEqual([
    ['created', 'index', 1],
    ['updated', 'index', 2],
    ['restored', 'index', 3],
    ['created', 'run', null],
    ['deleted', 'index', 4],
    ['purged', 'index', null],
  ]);
  expect(entries[0]).toMatchObject({ seq: 1, author: 'anna', request_id: 'r1', note: 'why', id: 'EQ' });
  expect(entries[3]).toMatchObject({ author: 'local', request_id: '', note: null });
});

test('a refused transaction leaves nothing in the log', async () => {
  const documents = await opened();
  const refused = documents.transaction(async (tx) => {
    await tx.put('index', 'EQ', { id: 'EQ' });
    throw new Error('no');
  });
  await expect(refused).rejects.toThrow('no');
  expect(await auditHead(documents)).toMatchObject({ seq: 0 });
  await documents.close();
});

test('a hash is the SHA-256 of the entry as canonical JSON: members in order, without the hash', async () => {
  const { entries } = await sixWrites();
  let previous = '0'.repeat(64);
  for (const { hash, ...stated } of entries) {
    expect(stated.previous).toBe(previous);
    const sorted = Object.fromEntries(Object.entries(stated).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    previous = createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
    expect(hash).toBe(previous);
  }
});

test('every edit, omission, repetition and exchange of entries is found, and where', async () => {
  const { entries, head } = await sixWrites();
  const seqOf = (log: readonly unknown[], last: string | null = head): number => {
    const verdict = verifyAudit(log, last);
    return 'reason' in verdict ? verdict.seq : 0;
  };
  expect(seqOf(entries)).toBe(0);
  for (const [at, entry] of entries.entries()) {
    for (const [member, value] of Object.entries(entry)) {
      const other = typeof value === 'number' ? value + 1 : `${String(value)}0`;
      const edited = entries.map((each, i) => (i === at ? { ...each, [member]: other } : each));
      expect(seqOf(edited), `${member} of entry ${at + 1}`).toBe(at + 1);
    }
    expect(seqOf(entries.filter((_, i) => i !== at))).toBe(at === 5 ? 6 : at + 1);
    expect(seqOf([...entries.slice(0, at + 1), ...entries.slice(at)])).toBe(at + 2);
  }
  expect(seqOf(entries.slice(0, -1), null)).toBe(0); // nobody can know
});

test('a home whose log lost an entry, or its head, is damaged', async () => {
  const { entries, head } = await sixWrites();
  const faultOf = (kept: readonly AuditEntry[], last: string | undefined): number | undefined => {
    const check = createAuditCheck();
    for (const body of kept.toReversed()) check.look({ kind: 'audit', body });
    if (last !== undefined) check.look({ kind: 'audit-head', body: { seq: entries.length, hash: last } });
    return check.fault()?.seq;
  };
  expect(faultOf(entries, head)).toBeUndefined();
  expect(faultOf([], undefined)).toBeUndefined();
  expect(faultOf(entries.slice(1), head)).toBe(1);
  expect(faultOf(entries.slice(0, 3), head)).toBe(4);
  expect(faultOf(entries, undefined)).toBe(7);
});
