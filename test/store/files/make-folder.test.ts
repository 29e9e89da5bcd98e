import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '#store/artifacts/durable-files.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();

test('a folder is created with its parents, with the requested mode, and found the second time', async () => {
  const parentFolder = join(await createFolder(), 'a');
  const path = join(parentFolder, 'b', 'c');
  expect(await makeFolder(path, 0o700)).toBe(true);
  for (const folder of [parentFolder, path]) expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect(await makeFolder(path, 0o700)).toBe(false);
});

test('of concurrent creators one creates the folder, and none is refused', async () => {
  const path = join(await createFolder(), 'a', 'b');
  const result = await Promise.all(Array.from({ length: 16 }, () => makeFolder(path)));
  expect(result.filter(Boolean)).toHaveLength(1);
});

test('a file in the path is refused, as the folder or a parent', async () => {
  const file = join(await createFolder(), 'file');
  await writeFile(file, '');
  await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(join(file, 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});
