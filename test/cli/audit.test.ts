import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { AuditEntry, AuditSeal } from '#domain/definition/versions.js';
import {
  computeAuditHash,
  formatEntryId,
  readAuditBatches,
  readAuditHead,
  signAuditLog,
} from '#store/history/audit.js';
import { createVersionedStore } from '#store/history/history.js';
import { createSigningKey } from '#store/history/publication-log.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { flipDocument } from '../store/flip-document.js';
import { openTemporaryFolders } from '../store/temporary-folder.js';
import { runHere } from './process.js';

const createFolder = openTemporaryFolders();
const KEY = createSigningKey('2026-01-01T00:00:00.000000+00:00');
const OTHER_KEY = createSigningKey('2026-01-01T00:00:00.000000+00:00');

/** Audit log of five writes. It is signed after the third and the last write. */
let entries: AuditEntry[];
let seals: readonly AuditSeal[];
beforeAll(async () => {
  let time = 0;
  const engine = await openDocumentStore({ folder: join(await createFolder(), 'documents') });
  const documents = createVersionedStore(engine, () => (time += 1000));
  for (let i = 1; i <= 5; i++) {
    await documents.transaction((tx) => tx.put('index', `I${i}`, { id: `I${i}` }));
    if (i === 3 || i === 5) await documents.transaction((tx) => signAuditLog(tx, KEY, KEY.valid_from));
  }
  entries = [];
  for await (const batch of readAuditBatches(documents, { after: 0, head: await readAuditHead(documents) }))
    entries.push(...batch);
  ({ documents: seals } = await documents.list('audit-seal', (body) => body as AuditSeal));
  await documents.close();
});

interface AuditFiles {
  readonly log?: readonly object[];
  readonly sealed?: readonly object[];
  readonly key?: object;
}

/** Runs the command on the lines of the log, in the form of `GET /audit`, and on the signing keys. */
async function verifyAudit({ log = entries, sealed = seals, key = KEY }: AuditFiles, words: readonly string[] = []) {
  const folder = await createFolder();
  const { private_key: _, ...publicKey } = key as typeof KEY;
  const lines = [...log, ...sealed.map((seal) => ({ seal }))].map((line) => `${JSON.stringify(line)}\n`);
  await writeFile(join(folder, 'audit.jsonl'), lines.join(''));
  await writeFile(join(folder, 'keys.json'), JSON.stringify({ keys: [publicKey] }));
  const { status, out, err } = await runHere([
    'audit',
    '--check',
    join(folder, 'audit.jsonl'),
    '--key',
    join(folder, 'keys.json'),
    ...words,
  ]);
  return `${status} ${out}${err}`.trimEnd();
}

/** Computes the numbers and hashes of entries again. An attacker without a signing key could do the same. */
function rehashEntries(log: readonly AuditEntry[]): AuditEntry[] {
  let previousHash = '0'.repeat(64);
  return log.map((entry, i) => {
    const statedEntry = { ...entry, seq: i + 1, previous: previousHash };
    previousHash = computeAuditHash(statedEntry);
    return { ...statedEntry, hash: previousHash };
  });
}

test('an unchanged log is valid, and its signed part is reported', async () => {
  const [last] = entries.slice(-1);
  const intactText = `0 The hash chain is intact, signed up to entry 5: 5 entries, last hash ${last!.hash}.`;
  expect(await verifyAudit({})).toBe(intactText);
  expect(await verifyAudit({}, ['--head', last!.hash])).toBe(intactText);
});

test('each edited, removed, repeated or moved entry is reported, even after all hashes are recomputed', async () => {
  for (const position of [0, 2, 4]) {
    const editedEntries = entries.map((entry, i) => (i === position ? { ...entry, author: 'mallory' } : entry));
    expect(await verifyAudit({ log: editedEntries })).toBe(
      `1 Entry ${position + 1}: its hash does not match its content.`,
    );
    const signedSeq = position < 3 ? 3 : 5;
    expect(await verifyAudit({ log: rehashEntries(editedEntries) })).toBe(
      `1 Entry ${signedSeq}: it differs from the signed entry.`,
    );
    const shortenedEntries = entries.toSpliced(position, 1);
    const reason =
      position === 4 ? 'it is missing: the log is signed up to entry 5' : `it has the number ${position + 2}`;
    const hint = position === 0 ? ' The file is an extract. Verify the complete log, which contains its entries.' : '';
    expect(await verifyAudit({ log: shortenedEntries })).toBe(`1 Entry ${position + 1}: ${reason}.${hint}`);
    expect(await verifyAudit({ log: rehashEntries(shortenedEntries) })).toMatch(/^1 Entry [35]: /);
    const repeatedEntries = entries.toSpliced(position, 0, entries[position]!);
    expect(await verifyAudit({ log: repeatedEntries })).toBe(
      `1 Entry ${position + 2}: it has the number ${position + 1}.`,
    );
  }
  const movedEntries = entries.toSpliced(1, 2, entries[2]!, entries[1]!);
  expect(await verifyAudit({ log: movedEntries })).toBe('1 Entry 2: it has the number 3.');
  expect(await verifyAudit({ log: rehashEntries(movedEntries) })).toBe('1 Entry 3: it differs from the signed entry.');
});

test('a signature by another key, an edited signature and a missing signature are detected', async () => {
  expect(await verifyAudit({ key: OTHER_KEY })).toBe(`1 Entry 3: in its seal, its key ${KEY.key_id} is unknown.`);
  const disguisedKey = { ...OTHER_KEY, key_id: KEY.key_id };
  expect(await verifyAudit({ key: disguisedKey })).toMatch(
    /^1 Entry 3: in its seal, its signature does not match the key/,
  );
  const forgedSeals = seals.map((seal, i) => (i === 1 ? { ...seal, signature: seals[0]!.signature } : seal));
  expect(await verifyAudit({ sealed: forgedSeals })).toMatch(/^1 Entry 5: in its seal, its signature/);
  expect(await verifyAudit({ sealed: seals.slice(1) })).toBe('1 Entry 5: the previous seal is missing.');
  // Anybody could replace an entry that no signature covers.
  expect(await verifyAudit({ sealed: seals.slice(0, 1) })).toBe('1 Entry 4: no signature covers it.');
  expect(await verifyAudit({ sealed: [] })).toBe('1 Entry 1: no signature covers it.');
  expect(await verifyAudit({ sealed: [] }, ['--head', entries.at(-1)!.hash])).toMatch(/^0 .*signed up to entry 0/);
});

test('a different last hash and missing files are reported', async () => {
  expect(await verifyAudit({}, ['--head', 'f'.repeat(64)])).toMatch(/^1 Entry 6: it is missing/);
  const missing = await runHere(['audit', '--check', join(await createFolder(), 'none')]);
  expect(missing).toMatchObject({ status: 64, err: expect.stringContaining('cannot be read: ENOENT') as string });
});

test('an unreadable log is refused with its first unreadable entry, before any output', async () => {
  const home = await createFolder();
  const documents = createVersionedStore(await openDocumentStore({ folder: join(home, 'documents') }));
  for (const id of ['A', 'B', 'C']) await documents.transaction((tx) => tx.put('constraint-set', id, { id }));
  await documents.close();
  await flipDocument(home, `main\0audit\0${formatEntryId(2)}`);
  expect(await runHere(['audit', '--home', home])).toMatchObject({
    status: 2,
    out: '',
    err: expect.stringContaining('The audit log cannot be read: its entry 2; restore it from a backup.') as string,
  });
  const logFile = join(home, 'audit.jsonl');
  expect(await runHere(['audit', '--home', home, '--out', logFile])).toMatchObject({ status: 2 });
  expect(await readdir(home)).not.toContain('audit.jsonl');
});
