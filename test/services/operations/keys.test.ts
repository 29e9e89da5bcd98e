import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKeys, issueKey, type AccessKeys } from '#services/keys/keys.js';
import type { DocumentStore } from '#store/port.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';

let folder: string;
let documents: DocumentStore;
let nowMs = Date.parse('2026-11-20T12:00:00Z');

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keys-'));
  documents = await openDocumentStore({ folder });
});

afterEach(async () => {
  await documents.close();
  await rm(folder, { recursive: true });
});

const open = async (environment: Parameters<typeof createKeys>[1] = []): Promise<AccessKeys> =>
  createKeys(documents, environment, () => nowMs);

test('a key has the published form, is accepted with its scopes, and is stored only as a digest', async () => {
  const keys = await open();
  expect(keys.areConfigured()).toBe(false);
  const { key, record } = await keys.create({ name: 'ci', scopes: ['read', 'run'], expires: null });
  expect(key).toMatch(/^dvs_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{43}$/);
  expect(keys.verify(key)).toEqual({ keyId: record.id, name: 'ci', scopes: new Set(['read', 'run']) });
  const secret = key.slice(17);
  expect(record.sha256).toBe(createHash('sha256').update(secret).digest('hex'));
  expect(JSON.stringify([keys.list(), await documents.get('key', record.id)])).not.toContain(secret);
});

test('a limited key is stored without the digest that releases without limits read, and is read in both forms', async () => {
  const keys = await open();
  const limits = [{ prefixes: ['a-'] }, { sources: ['10.0.0.0/8'] }];
  for (const [i, limit] of limits.entries()) {
    const { key, record } = await keys.create({ name: `limited-${i}`, scopes: ['read'], expires: null, ...limit });
    const storedKey = (await documents.get('key', record.id)) as { readonly body: Record<string, unknown> };
    expect([storedKey.body['sha256'], storedKey.body['limited_sha256']]).toEqual([undefined, record.sha256]);
    expect((await open()).verify(key, '10.0.0.1')).toMatchObject({ keyId: record.id });
    await documents.transaction(async (tx) => void (await tx.put('key', record.id, record))); // as release 0.3.0 stored it
    expect((await open()).verify(key, '10.0.0.1')).toMatchObject({ keyId: record.id });
  }
});

test('keys are kept after the process that created them ends', async () => {
  const { key } = await (await open()).create({ name: 'ci', scopes: ['read'], expires: null });
  expect((await open()).verify(key)?.scopes).toEqual(new Set(['read']));
});

test('unknown, wrong, malformed, revoked and expired keys are all rejected', async () => {
  const keys = await open();
  const { key, record } = await keys.create({
    name: 'a',
    scopes: ['read'],
    expires: '2026-11-21T00:00:00.000000+00:00',
  });
  const otherKey = issueKey({ name: 'b', scopes: ['read'], expires: null }, nowMs).key;
  expect(keys.verify(otherKey)).toBeUndefined();
  expect(keys.verify(`${key.slice(0, 17)}${otherKey.slice(17)}`)).toBeUndefined();
  for (const text of ['', 'dvs_', key.slice(0, -1), `${key}x`, key.toUpperCase(), `dvs_${record.id}_`])
    expect(keys.verify(text)).toBeUndefined();
  nowMs = Date.parse('2026-11-20T23:59:59.999Z');
  expect(keys.verify(key)).toBeDefined();
  nowMs = Date.parse('2026-11-21T00:00:00Z');
  expect(keys.verify(key)).toBeUndefined();
});

test('a revoked key stays revoked, and a service whose keys are all revoked is not open', async () => {
  const { key, record } = await (await open()).create({ name: 'a', scopes: ['admin'], expires: null });
  const keys = await open();
  const revokedKey = await keys.revoke(record.id);
  expect(keys.verify(key)).toBeUndefined();
  expect(await keys.revoke(record.id)).toEqual(revokedKey);
  expect((await open()).verify(key)).toBeUndefined();
  expect((await open()).areConfigured()).toBe(true);
});

test('two valid keys have different names; the name of a revoked key is free', async () => {
  const keys = await open();
  const { record } = await keys.create({ name: 'ci', scopes: ['read'], expires: null });
  await expect(keys.create({ name: 'ci', scopes: ['read'], expires: null })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
  await keys.revoke(record.id);
  await expect(keys.create({ name: 'ci', scopes: ['read'], expires: null })).resolves.toBeDefined();
});

test('a rotated key is accepted together with its successor for the overlap, with the same terms', async () => {
  nowMs = Date.parse('2026-11-20T12:00:00Z');
  const keys = await open();
  const terms = { name: 'ci', scopes: ['run'] as const, prefixes: ['a-'], sources: ['10.0.0.0/8'] };
  const oldKey = await keys.create({ ...terms, expires: '2026-11-30T12:00:00.000000+00:00' });
  nowMs = Date.parse('2026-11-25T12:00:00Z');
  const { key, record } = await keys.rotate(oldKey.record.id, 3_600_000);
  expect(record).toMatchObject(terms);
  expect(Date.parse(record.expires!)).toBe(Date.parse('2026-12-05T12:00:00Z')); // valid for ten days, like the first key
  expect([keys.verify(oldKey.key, '10.1.1.1') !== undefined, keys.verify(key, '10.1.1.1') !== undefined]).toEqual([
    true,
    true,
  ]);
  nowMs = Date.parse('2026-11-25T13:00:00Z');
  expect([keys.verify(oldKey.key, '10.1.1.1'), keys.verify(key, '10.1.1.1')?.keyId]).toEqual([undefined, record.id]);
  await expect(keys.rotate(oldKey.record.id, 1000)).rejects.toThrow('is not accepted any more');
  expect((await open()).verify(oldKey.key, '10.1.1.1')).toBeUndefined();
});

test('a key that is limited to addresses is rejected elsewhere', async () => {
  const keys = await open();
  const { key } = await keys.create({ name: 'desk', scopes: ['read'], expires: null, sources: ['10.0.0.0/8', '::1'] });
  const outcomes = ['10.9.9.9', '::ffff:10.0.0.1', '::1', '11.0.0.1', undefined].map(
    (address) => keys.verify(key, address) !== undefined,
  );
  expect(outcomes).toEqual([true, true, true, false, false]);
});

test('the last use of a key is known, to the minute, also after a restart', async () => {
  nowMs = Date.parse('2026-11-20T12:00:00Z');
  const keys = await open();
  const { key, record } = await keys.create({ name: 'ci', scopes: ['read'], expires: null });
  expect(keys.list()[0]).toMatchObject({ id: record.id, last_used: null });
  keys.verify(key);
  nowMs += 30_000;
  keys.verify(key);
  expect(keys.list()[0]!.last_used).toContain('2026-11-20T12:00:00');
  await expect.poll(async () => (await documents.ids('key-use')).length).toBe(1);
  expect((await open()).list()[0]!.last_used).toContain('2026-11-20T12:00:00');
  nowMs += 31_000;
  keys.verify(key);
  expect(keys.list()[0]!.last_used).toContain('2026-11-20T12:01:01');
});

test('a key of the environment is accepted, is listed, and cannot be revoked by a command', async () => {
  const { key, record } = issueKey({ name: 'env', scopes: ['data'], expires: null }, nowMs);
  const keys = await open([{ ...record, created: null }]);
  expect(keys.areConfigured()).toBe(true);
  expect(keys.verify(key)?.scopes).toEqual(new Set(['data']));
  expect(keys.list().map(({ name }) => name)).toEqual(['env']);
  await expect(keys.revoke(record.id)).rejects.toThrow('DIVISOR_API_KEYS');
  await expect(keys.revoke('none')).rejects.toThrow('No key has the id none.');
});
