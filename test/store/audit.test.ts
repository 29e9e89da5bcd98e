import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AuditEntry, AuditSeal } from '#domain/definition/versions.js';
import type { SigningKey } from '#domain/definition/publication.js';
import {
  computeAuditHash,
  createAuditCheck,
  formatEntryId,
  readAuditBatches,
  readAuditHead,
  signAuditLog,
  verifyAudit,
} from '#store/history/audit.js';
import { createVersionedStore } from '#store/history/history.js';
import { createSigningKey, signHash } from '#store/history/publication-log.js';
import { computeStatementHash } from '#store/history/log-check.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { openTemporaryFolders } from './temporary-folder.js';

const createFolder = openTemporaryFolders();
const authorship = { author: 'anna', note: 'why', requestId: 'r1' };

async function openAudited(): Promise<DocumentStore> {
  let time = 0;
  return createVersionedStore(
    await openDocumentStore({ folder: join(await createFolder(), 'documents') }),
    () => (time += 1000),
  );
}

async function listEntries(documents: DocumentStore): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for await (const batch of readAuditBatches(documents, { after: 0, head: await readAuditHead(documents) }))
    entries.push(...batch);
  return entries;
}

async function logSixWrites(): Promise<{ readonly entries: AuditEntry[]; readonly head: string }> {
  const documents = await openAudited();
  const put = (body: object, over: object = {}) =>
    documents.transaction((tx) => tx.put('index', 'EQ', { id: 'EQ', ...body }), { by: { ...authorship, ...over } });
  await put({ name: 'a' });
  await put({ name: 'a' }); // an unchanged document is not logged
  await put({ name: 'b' });
  await put({ name: 'a' }, { restores: 1 });
  await documents.transaction((tx) => tx.put('run', 'EQ', { run_id: 'EQ' }));
  await documents.transaction((tx) => tx.put('job', 'backtest:EQ', {})); // documents of jobs are not logged
  await documents.transaction((tx) => tx.delete('index', 'EQ'), { by: authorship });
  await documents.transaction((tx) => tx.delete('index', 'EQ'), { by: { ...authorship, purges: true } });
  const entries = await listEntries(documents);
  const { hash } = await readAuditHead(documents);
  await documents.close();
  return { entries, head: hash };
}

test('each write is logged once, with its author, the change of the document, and its version', async () => {
  const { entries } = await logSixWrites();
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

test('content and activation of a store are logged next to its declaration, and runs by their ids', async () => {
  const documents = await openAudited();
  const store = { store_id: 'm', kind: 'imported', name: 'M', active: false, content_hash: 'a' };
  const put = (kind: 'store' | 'run' | 'data-version', id: string, body: object) =>
    documents.transaction((tx) => tx.put(kind, id, body), { by: authorship });
  await put('store', 'm', store);
  await put('store', 'm', { ...store, last_loaded_at: 'later' }); // the content is unchanged
  await put('store', 'm', { ...store, content_hash: 'b' });
  await put('store', 'm', { ...store, content_hash: 'b', active: true });
  await put('data-version', 'm/0000000003', { version: 3 });
  await put('store', 'n', { ...store, store_id: 'n', active: true });
  await put('run', 'EQ', { run_id: 'EQ', artifacts: { columns: { name: 'f.art' } } });
  await documents.transaction((tx) => tx.delete('run', 'EQ'), { by: authorship });
  const run_id = createHash('sha256').update('EQ f.art').digest('hex').slice(0, 16);
  expect(
    (await listEntries(documents)).map(({ action, kind, id, version, ...rest }) => [
      action,
      kind,
      id,
      version,
      rest.run_id,
    ]),
  ).toEqual([
    ['created', 'store', 'm', 1, undefined],
    ['loaded', 'store', 'm', null, undefined],
    ['activated', 'store', 'm', null, undefined],
    ['created', 'data-version', 'm', 3, undefined],
    ['created', 'store', 'n', 1, undefined],
    ['activated', 'store', 'n', null, undefined],
    ['created', 'run', 'EQ', null, run_id],
    ['deleted', 'run', 'EQ', null, run_id],
  ]);
  await documents.close();
});

test('a refused transaction leaves nothing in the log', async () => {
  const documents = await openAudited();
  const refusal = documents.transaction(async (tx) => {
    await tx.put('index', 'EQ', { id: 'EQ' });
    throw new Error('no');
  });
  await expect(refusal).rejects.toThrow('no');
  expect(await readAuditHead(documents)).toMatchObject({ seq: 0 });
  await documents.close();
});

test('a hash is the SHA-256 of the entry as canonical JSON: members in order, without the hash', async () => {
  const { entries } = await logSixWrites();
  let previousHash = '0'.repeat(64);
  for (const { hash, ...stated } of entries) {
    expect(stated.previous).toBe(previousHash);
    const sortedEntry = Object.fromEntries(Object.entries(stated).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    previousHash = createHash('sha256').update(JSON.stringify(sortedEntry)).digest('hex');
    expect(hash).toBe(previousHash);
  }
});

test('every edit, omission, repetition and exchange of entries is found, with its position', async () => {
  const { entries, head } = await logSixWrites();
  const findSeq = (log: readonly unknown[], last: string | null = head): number => {
    const verdict = verifyAudit(log, { head: last });
    return 'reason' in verdict ? verdict.seq : 0;
  };
  expect(findSeq(entries)).toBe(0);
  for (const [position, entry] of entries.entries()) {
    for (const [member, value] of Object.entries(entry)) {
      const other = typeof value === 'number' ? value + 1 : `${String(value)}0`;
      const editedEntries = entries.map((each, i) => (i === position ? { ...each, [member]: other } : each));
      expect(findSeq(editedEntries), `${member} of entry ${position + 1}`).toBe(position + 1);
    }
    expect(findSeq(entries.filter((_, i) => i !== position))).toBe(position === 5 ? 6 : position + 1);
    expect(findSeq([...entries.slice(0, position + 1), ...entries.slice(position)])).toBe(position + 2);
  }
  expect(findSeq(entries.slice(0, -1), null)).toBe(0); // without the head, a missing last entry cannot be detected
});

test('a home whose log lost an entry, or its head, is damaged', async () => {
  const { entries, head } = await logSixWrites();
  const findFault = (kept: readonly AuditEntry[], last: string | undefined): number | undefined => {
    const check = createAuditCheck();
    for (const body of kept.toReversed()) check.look({ kind: 'audit', body });
    if (last !== undefined) check.look({ kind: 'audit-head', body: { seq: entries.length, hash: last } });
    return check.fault()?.seq;
  };
  expect(findFault(entries, head)).toBeUndefined();
  expect(findFault([], undefined)).toBeUndefined();
  expect(findFault(entries.slice(1), head)).toBe(1);
  expect(findFault(entries.slice(0, 3), head)).toBe(4);
  expect(findFault(entries, undefined)).toBe(7);
});

const [OLD_KEY, NEW_KEY] = [
  createSigningKey('2026-01-01T00:00:00.000000+00:00'),
  createSigningKey('2026-01-02T00:00:00.000000+00:00'),
];
const KEYS: readonly SigningKey[] = [{ ...OLD_KEY, valid_until: NEW_KEY.valid_from }, NEW_KEY];
const keys = new Map(KEYS.map((key) => [key.key_id, key]));

/** Returns a log of six writes. One key signed it up to the third write, and the next key up to the last. */
async function createSignedLog(): Promise<{
  readonly entries: readonly AuditEntry[];
  readonly seals: readonly AuditSeal[];
}> {
  const documents = await openAudited();
  for (let i = 1; i <= 6; i++) {
    await documents.transaction((tx) => tx.put('index', `I${i}`, { id: `I${i}` }), { by: authorship });
    if (i === 3) await documents.transaction((tx) => signAuditLog(tx, OLD_KEY, OLD_KEY.valid_from));
    if (i === 6) await documents.transaction((tx) => signAuditLog(tx, NEW_KEY, NEW_KEY.valid_from));
    if (i === 6) await documents.transaction((tx) => signAuditLog(tx, NEW_KEY, 'again: it is signed'));
  }
  const { documents: seals } = await documents.list('audit-seal', (body) => body as AuditSeal);
  const entries = await listEntries(documents);
  await documents.close();
  return { entries, seals };
}

/** Rewrites a log as an attacker would who can compute hashes but has no key. */
function rewriteEntries(entries: readonly AuditEntry[]): AuditEntry[] {
  let previousHash = '0'.repeat(64);
  return entries.map((entry, i) => {
    const statedEntry = { ...entry, seq: i + 1, previous: previousHash };
    previousHash = computeAuditHash(statedEntry);
    return { ...statedEntry, hash: previousHash };
  });
}

test('a log that is hashed again after an edit, an omission, an addition or an exchange does not match its signatures', async () => {
  const { entries, seals } = await createSignedLog();
  const verifyLog = (log: readonly unknown[]) => verifyAudit(log, { head: null, seals, keys });
  expect(verifyLog(entries)).toEqual({ seq: 6, hash: entries[5]!.hash, sealed: 6, unchained: 0 });
  expect(verifyLog(rewriteEntries(entries))).toMatchObject({ sealed: 6 });
  for (const [position, entry] of entries.entries()) {
    const signedAt = position < 3 ? 3 : 6;
    const mutants = [
      entries.map((each, i) => (i === position ? { ...each, author: 'mallory' } : each)),
      ...(position === 5 ? [] : [[...entries.slice(0, position), entry, ...entries.slice(position)]]),
      ...(position === 5 ? [] : [entries.toSpliced(position, 2, entries[position + 1]!, entry)]),
    ];
    for (const mutant of mutants)
      expect(verifyLog(rewriteEntries(mutant)), `entry ${position + 1}`).toMatchObject({
        seq: position === 2 ? expect.anything() : signedAt,
      });
    expect(verifyLog(rewriteEntries(entries.toSpliced(position, 1)))).toHaveProperty('reason');
  }
  // The end of the log is missing. This is detected even without a head that the caller remembers.
  expect(verifyLog(entries.slice(0, 5))).toEqual({ seq: 6, reason: 'it is missing: the log is signed up to entry 6' });
});

test('each edit of a signature is found, and a key that was not valid then', async () => {
  const { entries, seals } = await createSignedLog();
  const findReason = (others: readonly unknown[], known = keys) =>
    verifyAudit(entries, { head: null, seals: others, keys: known });
  for (const [position, seal] of seals.entries())
    for (const [member, value] of Object.entries(seal)) {
      const other =
        typeof value === 'number'
          ? value + 1
          : `${String(value).slice(0, -1)}${String(value).endsWith('0') ? '1' : '0'}`;
      const editedSeals = seals.map((each, i) => (i === position ? { ...each, [member]: other } : each));
      expect(findReason(editedSeals), `${member} of seal ${position + 1}`).toHaveProperty('reason');
    }
  expect(findReason(seals, new Map([[NEW_KEY.key_id, NEW_KEY]]))).toMatchObject({ seq: 3 });
  const lateKeys = new Map(
    KEYS.map((key) => [key.key_id, { ...key, valid_until: key.valid_from, valid_from: '2025' }]),
  );
  expect(
    findReason(seals, new Map([...lateKeys, [NEW_KEY.key_id, { ...NEW_KEY, valid_from: '2027-01-01' }]])),
  ).toMatchObject({
    seq: 6,
    reason: expect.stringContaining('was not valid') as string,
  });
});

/**
 * Returns a log of eight signed writes. As in earlier releases, the first signatures are not linked to the signature
 * before them.
 */
async function createSealedEachTime(unchained: number): Promise<Awaited<ReturnType<typeof createSignedLog>>> {
  const documents = await openAudited();
  for (let i = 1; i <= 8; i++) {
    await documents.transaction((tx) => tx.put('index', `I${i}`, { id: `I${i}` }), { by: authorship });
    await documents.transaction((tx) =>
      i <= unchained ? sealAsBefore(tx, i) : signAuditLog(tx, NEW_KEY, NEW_KEY.valid_from),
    );
  }
  const { documents: seals } = await documents.list('audit-seal', (body) => body as AuditSeal);
  const entries = await listEntries(documents);
  await documents.close();
  return { entries, seals };
}

/** Signs the log as release 0.2.0 did, and leaves its head as the conversion does. */
async function sealAsBefore(tx: DocumentTransaction, count: number): Promise<void> {
  const { seq, hash: entry_hash } = await readAuditHead(tx);
  const statedSeal = { seq, entry_hash, at: NEW_KEY.valid_from, key_id: NEW_KEY.key_id };
  const hash = computeStatementHash(statedSeal);
  await tx.put('audit-seal', formatEntryId(seq), { ...statedSeal, hash, signature: signHash(NEW_KEY, hash) });
  await tx.put('audit-head', 'head', { seq, hash: entry_hash, sealed: seq, seals: count, seal_hash: hash });
}

test('each signature in the middle that is omitted, repeated or exchanged is found', async () => {
  const { entries, seals } = await createSealedEachTime(0);
  const verifyLog = (otherSeals: readonly AuditSeal[]) => verifyAudit(entries, { head: null, seals: otherSeals, keys });
  expect(verifyLog(seals)).toMatchObject({ sealed: 8, unchained: 0 });
  for (let position = 0; position < 7; position++) {
    const place = `seal ${position + 1}`;
    const missing = { seq: position + 2, reason: 'the previous seal is missing' };
    expect(verifyLog(seals.toSpliced(position, 1)), place).toEqual(missing);
    expect(verifyLog(seals.toSpliced(position, 0, seals[position]!)), place).toEqual({
      seq: position + 1,
      reason: 'its seal occurs twice',
    });
    for (let other = position + 1; other < 8; other++)
      expect(verifyLog(seals.with(position, seals[other]!).with(other, seals[position]!)), place).toHaveProperty(
        'reason',
      );
    for (let end = position + 1; end < 7; end++)
      expect(verifyLog(seals.toSpliced(position, end - position)), place).toMatchObject({ seq: end + 1 });
  }
});

test('signatures from before they were chained are valid and are counted; the chain begins after the last of them', async () => {
  const { entries, seals } = await createSealedEachTime(3);
  const verifyLog = (otherSeals: readonly AuditSeal[]) => verifyAudit(entries, { head: null, seals: otherSeals, keys });
  expect(verifyLog(seals)).toMatchObject({ sealed: 8, unchained: 3 });
  // as before, the missing signature cannot be detected
  expect(verifyLog(seals.toSpliced(1, 1))).toMatchObject({ sealed: 8, unchained: 2 });
  for (const position of [2, 3, 4, 5, 6])
    expect(verifyLog(seals.toSpliced(position, 1))).toMatchObject({ seq: position + 2 });
  expect(verifyLog(seals.slice(3))).toMatchObject({ seq: 4, reason: 'the previous seal is missing' });
  const { previous: _, ...stripped } = seals[5]!;
  const lateSeal = { ...stripped, hash: computeStatementHash(stripped) };
  expect(verifyLog(seals.with(5, { ...lateSeal, signature: signHash(NEW_KEY, lateSeal.hash) }))).toEqual({
    seq: 6,
    reason: 'its seal does not name the previous one',
  });
  const { entries: old, seals: all } = await createSealedEachTime(8);
  expect(verifyAudit(old, { head: null, seals: all, keys })).toMatchObject({ sealed: 8, unchained: 8 });
});

test('a home with a rewritten log is reported as damaged by its signatures', async () => {
  const { entries, seals } = await createSignedLog();
  const findFault = (log: readonly AuditEntry[]): unknown => {
    const check = createAuditCheck();
    for (const body of log) check.look({ kind: 'audit', body });
    check.look({ kind: 'audit-head', body: { seq: log.length, hash: log.at(-1)!.hash } });
    for (const body of seals) check.look({ kind: 'audit-seal', body });
    for (const body of KEYS) check.look({ kind: 'signing-key', body });
    return check.fault();
  };
  expect(findFault(entries)).toBeUndefined();
  const forgedEntries = rewriteEntries(entries.map((each) => (each.seq === 2 ? { ...each, author: 'mallory' } : each)));
  expect(findFault(forgedEntries)).toEqual({ seq: 3, reason: 'it differs from the signed entry' });
});
