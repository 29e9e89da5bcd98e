import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findBackupAge } from '#store/home/backup.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();

test('the age of the newest backup is that of the newest complete manifest', async () => {
  const folder = await createFolder();
  const readTime = (): number => 10_000_000;
  expect(await findBackupAge(join(folder, 'absent'), readTime)).toBeUndefined();
  const write = async (name: string, writtenSeconds: number): Promise<void> => {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'manifest.json'), '{}');
    await utimes(join(folder, name, 'manifest.json'), writtenSeconds, writtenSeconds);
  };
  await mkdir(join(folder, 'without-manifest'));
  await write('.2026-11-20.partial-1', 9999);
  expect(await findBackupAge(folder, readTime)).toBeUndefined();
  await write('b', 9000);
  await write('a', 9400);
  expect(await findBackupAge(folder, readTime)).toBe(600);
});
