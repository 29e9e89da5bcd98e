import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { watchFreeSpace } from '#store/artifacts/free-space.js';
import type { ArtifactStore } from '#store/port.js';
import { openObjectArtifacts } from '#store/s3/object-store.js';
import { createS3Client } from '#store/s3/client.js';
import { openTemporaryFolders } from '../temporary-folder.js';
import { startS3, type S3Service } from './s3-service.js';

const createFolder = openTemporaryFolders();
let service: S3Service;
beforeAll(async () => {
  service = await startS3();
});
afterAll(() => service.stop());

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const CONTENT = Uint8Array.from({ length: 70_001 }, (_, i) => (i * 31) & 255);
const OTHER_CONTENT = CONTENT.map((byte) => byte ^ 1);

/** Creates a machine with its own cache. */
async function openMachine(): Promise<{ readonly artifacts: ArtifactStore }> {
  const cache = { folder: await createFolder(), bytesMax: 2 ** 26 };
  const { access } = service;
  return { artifacts: await openObjectArtifacts({ access, cache, freeSpace: watchFreeSpace(cache.folder) }) };
}

test('a replaced or removed object is damaged for a machine without a copy, and is not shared', async () => {
  const firstMachine = await openMachine();
  const refs = await Promise.all([1, 2, 3].map(() => firstMachine.artifacts.write(CONTENT, sha256(CONTENT))));
  const [wholeRef, replacedRef, removedRef] = refs;
  const objects = createS3Client(service.access);
  await objects.put(replacedRef!.name, OTHER_CONTENT, sha256(OTHER_CONTENT));
  await objects.remove(removedRef!.name);
  const datedRefs = refs.map((ref) => ({ ref, madeAt: 0 }));
  const secondMachine = await openMachine();
  expect(await secondMachine.artifacts.damaged(datedRefs)).toEqual(new Set([replacedRef!.name, removedRef!.name]));
  expect(await firstMachine.artifacts.damaged(datedRefs)).toEqual(new Set()); // the machine reads its cached copies
  const linkCopy = (ref: typeof wholeRef) =>
    firstMachine.artifacts.link([{ ref: ref!, name: firstMachine.artifacts.newName() }]);
  for (const ref of [replacedRef, removedRef])
    await expect(linkCopy(ref)).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' });
  const [copy] = await linkCopy(wholeRef);
  expect(Buffer.compare(await secondMachine.artifacts.read(copy!), CONTENT)).toBe(0);
});
