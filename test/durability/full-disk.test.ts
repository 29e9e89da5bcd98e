import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openHome } from '#store/home.js';
import { openStore, type Store } from '#store/open-store.js';
import { temporaryFolders } from '../store/temporary-folder.js';

const newFolder = temporaryFolders();
const mounted: string[] = [];
afterEach(() => {
  for (const folder of mounted.splice(0)) execFileSync('umount', ['-l', folder]); // A test that failed may still hold a file.
});

/** A volume of 8 MiB; undefined where this user may not mount one. */
async function mountSmallVolume(): Promise<string | undefined> {
  const folder = await newFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  mounted.push(folder);
  return folder;
}

const write = (store: Store, id: string): Promise<unknown> => store.documents.transaction((tx) => tx.put('index', id, { id, text: 'x'.repeat(4000) }));

test('a full volume refuses writes before the engine meets it, keeps everything it acknowledged, and recovers', async ({ skip }) => {
  const folder = await mountSmallVolume();
  if (folder === undefined) return skip('mounting a small volume needs more rights than this user has');
  const failures: unknown[] = [];
  let home = await openHome(join(folder, 'home'));
  let store = await openStore({ home, lowWaterMark: { bytes: 2 ** 20, fraction: 1 }, onFailure: (cause) => failures.push(cause) });
  await writeFile(join(folder, 'filler'), Buffer.alloc(2 * 2 ** 20));

  const acknowledged: string[] = [];
  const filling = (async () => {
    for (let i = 0; i < 5000; i++) {
      await write(store, `doc-${i}`);
      acknowledged.push(`doc-${i}`);
    }
  })();
  await expect(filling).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  expect(acknowledged.length).toBeGreaterThan(200);
  for (const id of acknowledged) expect(store.documents.get('index', id)).toMatchObject({ body: { id } });
  await expect(store.artifacts.write(new Uint8Array(2 ** 20), '')).rejects.toMatchObject({ code: 'STORAGE_FULL' });

  await rm(join(folder, 'filler'));
  await expect.poll(() => write(store, 'after').then(() => 'written', () => 'refused')).toBe('written');
  await store.close();
  await home.close();
  home = await openHome(join(folder, 'home'));
  store = await openStore({ home, onFailure: (cause) => failures.push(cause) });
  expect(store.documents.ids('index')).toHaveLength(acknowledged.length + 1);
  expect(failures).toEqual([]);
  await store.close();
  await home.close();
});
