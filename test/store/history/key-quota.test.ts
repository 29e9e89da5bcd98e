import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createVersionedStore } from '#store/history/versioned-store.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { temporaryFolder } from '../../store/temporary-folder.js';

const by = (keyId: string) => ({ author: keyId, keyId, note: null, requestId: 'r' });
/** Returns text that compression hardly shortens. */
const noise = (length: number): string => randomBytes(length).toString('base64').slice(0, length);

test('a key stores as much as it may, another is let in, and purging makes room, also after a restart', async () => {
  const engine = await openDocumentStore({ folder: await temporaryFolder() });
  const open = () => createVersionedStore(engine, Date.now, { keyBytesMax: 8000 });
  let store = open();
  const put = (id: string, keyId: string, text: string) =>
    store.transaction(async (tx) => void (await tx.put('template', id, { text })), { by: by(keyId) });
  await put('a', 'one', noise(2500));
  const last = noise(2600);
  await put('a', 'one', last);
  await expect(put('a', 'one', noise(7000))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', detail: { limit: 8000 } });
  expect(await store.get('template', 'a')).toMatchObject({ body: { text: last } });
  await put('b', 'two', noise(2500));
  store = open();
  await expect(put('a', 'one', noise(7000))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  await store.transaction(async (tx) => void (await tx.delete('template', 'a')), {
    by: { ...by('one'), purges: true },
  });
  await put('c', 'one', noise(5000));
  expect(await store.get('template', 'c')).toBeDefined();
  await engine.close();
});
