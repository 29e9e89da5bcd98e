import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createManagedFolders } from '#market/content/managed-folder.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();

test('the start removes the remains of a crash, and nothing else', async () => {
  const root = await createFolder();
  const before = createManagedFolders(root);
  const finishedFolder = await before.create('kept');
  await before.create('forgotten');
  await mkdir(join(root, '.draft-0a'));
  await mkdir(join(root, '.trash-0b'));
  await mkdir(join(root, 'of-the-operator'));
  await writeFile(join(root, 'of-the-operator', 'notes.txt'), 'mine');
  await createManagedFolders(root).sweep(new Set([finishedFolder]));
  expect((await readdir(root)).toSorted()).toEqual(
    [finishedFolder.slice(root.length + 1), 'of-the-operator'].toSorted(),
  );
});

test('work that begins before the sweep keeps its folder, although no store refers to it yet', async () => {
  const root = await createFolder();
  const folders = createManagedFolders(root);
  for (let i = 0; i < 200; i++) await mkdir(join(root, `.trash-${i}`));
  const result = Promise.all(Array.from({ length: 30 }, (_, i) => folders.create(`store-${i}`)));
  await folders.sweep(new Set());
  const names = (await result).map((folder) => folder.slice(root.length + 1));
  expect((await readdir(root)).toSorted()).toEqual(names.toSorted());
  await folders.sweep(new Set());
  expect(await readdir(root)).toEqual([]);
});

test('a folder that is removed while it is fetched does not exist afterwards', async () => {
  const root = await createFolder();
  const folders = createManagedFolders(root);
  const folder = join(root, 'shared.0a');
  const isRemoved = folders.receive('shared.0a', 'shared', async () => {
    expect(await folders.remove(folder, 'shared')).toBe(false); // it has no mark yet
  });
  // A fetch of the same folder that begins earlier and ends later is affected too.
  await Promise.all([isRemoved, folders.receive('shared.0a', 'shared', () => isRemoved)]);
  expect(await readdir(root)).toEqual([]);
  await folders.receive('shared.0a', 'shared', async () => {});
  expect(await readdir(root)).toEqual(['shared.0a']);
});
