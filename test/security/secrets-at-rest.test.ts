import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { createSecretBox, changePassword } from '#store/secrets/secret-box.js';
import { openSecrets } from '#cli/secrets.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { runService } from '../services/running-service.js';

const key = randomBytes(32).toString('base64');
const VALIDITY = { valid_from: '2026-01-01T00:00:00.000000+00:00', valid_until: null };

test('signing keys and passwords stored as plain text are encrypted once there is a key, and still work', async () => {
  const documents = await openDocumentStore({ folder: join(await createTemporaryFolder(), 'documents') });
  const source = 'postgresql://reader:open-secret@db.example/prices';
  const signing = {
    key_id: 'a'.repeat(16),
    public_key: 'cHVibGlj',
    private_key: 'open-private',
    ...VALIDITY,
  };
  await documents.transaction(async (tx) => {
    await tx.put('store', 'db', { store_id: 'db', kind: 'database', location: source, source });
    await tx.put('store', 'folder', { store_id: 'folder', kind: 'folder', location: '/data', source: '/data' });
    await tx.put('signing-key', signing.key_id, signing);
  });
  const bodyOf = async (kind: 'store' | 'signing-key', id: string) => {
    const entry = await documents.get(kind, id);
    return entry !== undefined && 'body' in entry ? JSON.stringify(entry.body) : '';
  };
  const secrets = await openSecrets({ secretKeyFile: undefined, secretKey: key }, documents);
  expect(await bodyOf('store', 'db')).not.toContain('open-secret');
  expect(await bodyOf('signing-key', signing.key_id)).not.toContain('open-private');
  expect(await bodyOf('store', 'folder')).toContain('/data');
  const stored = JSON.parse(await bodyOf('signing-key', signing.key_id)) as typeof signing;
  expect(secrets.open(stored.private_key)).toBe('open-private');
  expect(() => createSecretBox(undefined).open(stored.private_key)).toThrow('--secret-key-file');
  await documents.close();
});

test('a key is replaced, the replacement is reverted, and encryption is turned off, each at a start', async () => {
  const documents = await openDocumentStore({ folder: join(await createTemporaryFolder(), 'documents') });
  const source = 'postgresql://reader:open-secret@db.example/prices';
  const signing = { key_id: 'a'.repeat(16), public_key: 'cHVibGlj', private_key: 'open-private', ...VALIDITY };
  await documents.transaction(async (tx) => {
    await tx.put('store', 'db', { store_id: 'db', kind: 'database', location: source, source });
    await tx.put('signing-key', signing.key_id, signing);
    await tx.put('signing-key', 'b'.repeat(16), { ...signing, key_id: 'b'.repeat(16), private_key: '' });
  });
  const bodyOf = async <T>(kind: 'store' | 'signing-key', id: string) =>
    (await documents.get(kind, id)) as { readonly body: T };
  /** Starts a service with given secret keys. @returns the stored content */
  async function startWithKeys(keys: string) {
    const secrets = await openSecrets({ secretKeyFile: undefined, secretKey: keys }, documents);
    const { body: store } = await bodyOf<{ location: string; source: string }>('store', 'db');
    const { body: key } = await bodyOf<{ private_key: string }>('signing-key', signing.key_id);
    const { body: replaced } = await bodyOf<{ private_key: string }>('signing-key', 'b'.repeat(16));
    expect(replaced.private_key).toBe('');
    return { secrets, texts: [store.location, store.source, key.private_key] };
  }
  const unsealSecrets = ({
    secrets,
    texts: [location, url, private_key],
  }: Awaited<ReturnType<typeof startWithKeys>>) => [
    changePassword(location!, secrets.open),
    changePassword(url!, secrets.open),
    secrets.open(private_key!),
  ];
  const plain = [source, source, 'open-private'];
  const next = randomBytes(32).toString('hex');

  const first = await startWithKeys(key);
  expect(unsealSecrets(first)).toEqual(plain);
  const both = await startWithKeys(`${key}\n${next}\n`); // Every front needs both keys before a front encrypts with the new key.
  expect(both.texts).toEqual(first.texts);
  const replaced = await startWithKeys(`${next},${key}`);
  expect(unsealSecrets(replaced)).toEqual(plain);
  expect(unsealSecrets({ ...replaced, secrets: both.secrets })).toEqual(plain);
  expect(() => first.secrets.open(replaced.texts[2]!)).toThrow('the key is a different one');
  const alone = await startWithKeys(next);
  expect([alone.texts, unsealSecrets(alone)]).toEqual([replaced.texts, plain]);

  const lost = await startWithKeys(key); // A start without the encryption key changes nothing, and reads report the missing key.
  expect(lost.texts).toEqual(replaced.texts);
  expect(() => unsealSecrets(lost)).toThrow('the key is a different one');

  const back = await startWithKeys(`${key} ${next}`);
  expect([back.texts, unsealSecrets(back)]).toEqual([first.texts, plain]);
  expect((await startWithKeys(`none ${key}`)).texts).toEqual(plain);
  expect((await startWithKeys('')).texts).toEqual(plain);
  await documents.close();
});

test('a service with a key signs, also after a restart', async () => {
  const service = await runService([], { DIVISOR_SECRET_KEY: key });
  try {
    expect((await service.ask('POST', '/publication/keys')).status).toBe(200);
    expect((await service.ask('GET', '/audit')).status).toBe(200);
    await service.restart();
    expect((await service.ask('POST', '/publication/keys')).status).toBe(200);
    expect((await service.ask('GET', '/audit')).body).toMatchObject({ keys: [{}, {}], seals: [{}, {}] });
  } finally {
    await service.close();
  }
});
