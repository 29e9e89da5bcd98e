import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { createSecretBox } from '#store/secrets/secret-box.js';
import { openSecrets } from '#cli/secrets.js';
import { temporaryFolder } from '../store/temporary-folder.js';
import { runService } from '../services/running-service.js';

const key = randomBytes(32).toString('base64');

test('signing keys and passwords that were stored in the open are encrypted once there is a key, and still work', async () => {
  const documents = await openDocumentStore({ folder: join(await temporaryFolder(), 'documents') });
  const source = 'postgresql://reader:open-secret@db.example/prices';
  const signing = {
    key_id: 'a'.repeat(16),
    public_key: 'cHVibGlj',
    private_key: 'open-private',
    valid_from: '2026-01-01T00:00:00.000000+00:00',
    valid_until: null,
  };
  await documents.transaction(async (tx) => {
    await tx.put('store', 'db', { store_id: 'db', kind: 'database', location: source, source });
    await tx.put('store', 'folder', { store_id: 'folder', kind: 'folder', location: '/data', source: '/data' });
    await tx.put('signing-key', signing.key_id, signing);
  });
  const bodyOf = async (kind: 'store' | 'signing-key', id: string) => {
    const found = await documents.get(kind, id);
    return found !== undefined && 'body' in found ? JSON.stringify(found.body) : '';
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

test('a service with a key signs, after a restart too', async () => {
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
