import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createVersionedStore } from '#store/history/history.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';

const createKeyAuthorship = (keyId: string) => ({ author: keyId, keyId, note: null, requestId: 'r' });
/** Returns text that compression hardly shortens. */
const createNoise = (length: number): string => randomBytes(length).toString('base64').slice(0, length);

test('a key stores up to its quota, other keys are not affected, and purging frees space, also after a restart', async () => {
  const engine = await openDocumentStore({ folder: await createTemporaryFolder() });
  const open = () => createVersionedStore(engine, Date.now, { keyBytesMax: 8000 });
  let store = open();
  const put = (id: string, keyId: string, text: string) =>
    store.transaction(async (tx) => void (await tx.put('template', id, { text })), { by: createKeyAuthorship(keyId) });
  await put('a', 'one', createNoise(2500));
  const last = createNoise(2600);
  await put('a', 'one', last);
  await expect(put('a', 'one', createNoise(7000))).rejects.toMatchObject({
    code: 'QUOTA_EXCEEDED',
    detail: { limit: 8000 },
  });
  expect(await store.get('template', 'a')).toMatchObject({ body: { text: last } });
  await put('b', 'two', createNoise(2500));
  store = open();
  await expect(put('a', 'one', createNoise(7000))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  await store.transaction(async (tx) => void (await tx.delete('template', 'a')), {
    by: { ...createKeyAuthorship('one'), purges: true },
  });
  await put('c', 'one', createNoise(5000));
  expect(await store.get('template', 'c')).toBeDefined();
  await engine.close();
});
