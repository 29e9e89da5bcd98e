import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { changePassword, createSecretBox } from '#store/secret-box.js';
import { openSecrets } from '#cli/compose/storage.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { runService } from '../services/running-service.js';

const key = randomBytes(32).toString('base64');
const VALIDITY = { valid_from: '2026-01-01T00:00:00.000000+00:00', valid_until: null };

test('signing keys and passwords stored as plain text are encrypted once there is a key, and still work', async () => {
  const documents = await openDocumentStore({ folder: join(await createTemporaryFolder(), 'documents') });
  const source = 'postgresql://reader:open-secret@db.example/prices';
  const signingKey = {
    key_id: 'a'.repeat(16),
    public_key: 'cHVibGlj',
    private_key: 'open-private',
    ...VALIDITY,
  };
  await documents.transaction(async (tx) => {
    await tx.put('store', 'db', { store_id: 'db', kind: 'database', location: source, source });
    await tx.put('store', 'folder', { store_id: 'folder', kind: 'folder', location: '/data', source: '/data' });
    await tx.put('signing-key', signingKey.key_id, signingKey);
  });
  const readBody = async (kind: 'store' | 'signing-key', id: string) => {
    const entry = await documents.get(kind, id);
    return entry !== undefined && 'body' in entry ? JSON.stringify(entry.body) : '';
  };
  const secrets = await openSecrets({ secretKeyFile: undefined, secretKey: key }, documents);
  expect(await readBody('store', 'db')).not.toContain('open-secret');
  expect(await readBody('signing-key', signingKey.key_id)).not.toContain('open-private');
  expect(await readBody('store', 'folder')).toContain('/data');
  const storedKey = JSON.parse(await readBody('signing-key', signingKey.key_id)) as typeof signingKey;
  expect(secrets.open(storedKey.private_key)).toBe('open-private');
  expect(() => createSecretBox(undefined).open(storedKey.private_key)).toThrow('--secret-key-file');
  await documents.close();
});

test('a key is replaced, the replacement is reverted, and encryption is turned off, each at a start', async () => {
  const documents = await openDocumentStore({ folder: join(await createTemporaryFolder(), 'documents') });
  const source = 'postgresql://reader:open-secret@db.example/prices';
  const signingKey = { key_id: 'a'.repeat(16), public_key: 'cHVibGlj', private_key: 'open-private', ...VALIDITY };
  await documents.transaction(async (tx) => {
    await tx.put('store', 'db', { store_id: 'db', kind: 'database', location: source, source });
    await tx.put('signing-key', signingKey.key_id, signingKey);
    await tx.put('signing-key', 'b'.repeat(16), { ...signingKey, key_id: 'b'.repeat(16), private_key: '' });
  });
  const readBody = async <T>(kind: 'store' | 'signing-key', id: string) =>
    (await documents.get(kind, id)) as { readonly body: T };
  /** Starts a service with given secret keys. @returns the stored content */
  async function startWithKeys(keys: string) {
    const secrets = await openSecrets({ secretKeyFile: undefined, secretKey: keys }, documents);
    const { body: store } = await readBody<{ location: string; source: string }>('store', 'db');
    const { body: key } = await readBody<{ private_key: string }>('signing-key', signingKey.key_id);
    const { body: replaced } = await readBody<{ private_key: string }>('signing-key', 'b'.repeat(16));
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
  const plainTexts = [source, source, 'open-private'];
  const nextKey = randomBytes(32).toString('hex');

  const first = await startWithKeys(key);
  expect(unsealSecrets(first)).toEqual(plainTexts);
  const bothKeysTexts = await startWithKeys(`${key}\n${nextKey}\n`); // Every front needs both keys before a front encrypts with the new key.
  expect(bothKeysTexts.texts).toEqual(first.texts);
  const replacedTexts = await startWithKeys(`${nextKey},${key}`);
  expect(unsealSecrets(replacedTexts)).toEqual(plainTexts);
  expect(unsealSecrets({ ...replacedTexts, secrets: bothKeysTexts.secrets })).toEqual(plainTexts);
  expect(() => first.secrets.open(replacedTexts.texts[2]!)).toThrow('the key is a different one');
  const newKeyTexts = await startWithKeys(nextKey);
  expect([newKeyTexts.texts, unsealSecrets(newKeyTexts)]).toEqual([replacedTexts.texts, plainTexts]);

  const lostKeyTexts = await startWithKeys(key); // A start without the encryption key changes nothing, and reads report the missing key.
  expect(lostKeyTexts.texts).toEqual(replacedTexts.texts);
  expect(() => unsealSecrets(lostKeyTexts)).toThrow('the key is a different one');

  const oldKeyTexts = await startWithKeys(`${key} ${nextKey}`);
  expect([oldKeyTexts.texts, unsealSecrets(oldKeyTexts)]).toEqual([first.texts, plainTexts]);
  expect((await startWithKeys(`none ${key}`)).texts).toEqual(plainTexts);
  expect((await startWithKeys('')).texts).toEqual(plainTexts);
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
