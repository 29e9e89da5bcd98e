import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listFolders } from '#cli/settings/settings.js';
import { listHomeFolders, watchSizes } from '#store/home/home.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();

test('a home is as large as the files of its parts, and an absent part is empty', async () => {
  const home = listHomeFolders(await createFolder());
  await mkdir(join(home.stores, 'desk', 'deep'), { recursive: true });
  await mkdir(home.artifacts);
  await writeFile(join(home.stores, 'desk', 'market.csv'), 'a'.repeat(100));
  await writeFile(join(home.stores, 'desk', 'deep', 'more.csv'), 'a'.repeat(23));
  await writeFile(join(home.artifacts, 'run'), 'a'.repeat(7));
  expect(await watchSizes(listFolders(home))()).toEqual({ documents: 0, artifacts: 7, stores: 123, backups: 0 });
});

test('a measurement is valid for half a minute', async () => {
  const home = listHomeFolders(await createFolder());
  await mkdir(home.artifacts);
  let now = 0;
  const readSizes = watchSizes(listFolders(home), () => now);
  expect((await readSizes()).artifacts).toBe(0);
  await writeFile(join(home.artifacts, 'run'), '1234');
  now = 30_000;
  expect((await readSizes()).artifacts).toBe(0);
  now = 30_001;
  expect((await readSizes()).artifacts).toBe(4);
});

test('parts stored elsewhere are not reported as empty: on a cluster a home has only copies', async () => {
  const home = listHomeFolders(await createFolder());
  const listFolderNames = (settings: Parameters<typeof listFolders>[1]) => Object.keys(listFolders(home, settings));
  expect(listFolderNames({ database: 'postgres://h/d' })).toEqual(['artifacts', 'stores']);
  expect(listFolderNames({ database: 'postgres://h/d', artifacts: 's3://b' })).toEqual(['stores', 'cache']);
  expect(listFolders(home, { artifacts: 's3://b', cache: '/c' })).toMatchObject({ cache: '/c' });
});
