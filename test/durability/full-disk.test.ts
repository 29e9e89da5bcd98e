import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openHome } from '#store/home/home.js';
import { openStore, type Store } from '#store/open-store.js';
import { startService } from '../cli/process.js';
import { openTemporaryFolders } from '../store/temporary-folder.js';

const createFolder = openTemporaryFolders();
const mountedFolders: string[] = [];
afterEach(() => {
  for (const folder of mountedFolders.splice(0)) execFileSync('umount', ['-l', folder]); // lazily, because a failed test may still use a file
});

/** Mounts a volume of 8 MiB. Returns undefined if the user has no permission to mount. */
async function mountSmallVolume(): Promise<string | undefined> {
  const folder = await createFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  mountedFolders.push(folder);
  return folder;
}

const write = (store: Store, id: string): Promise<unknown> =>
  store.documents.transaction((tx) => tx.put('index', id, { id, text: 'x'.repeat(4000) }));

test('a full volume refuses writes before the database fails, keeps every acknowledged write, and recovers', async ({
  skip,
}) => {
  const folder = await mountSmallVolume();
  if (folder === undefined) return skip('mounting a small volume needs more rights than this user has');
  const failures: unknown[] = [];
  let home = await openHome(join(folder, 'home'));
  let store = await openStore({
    home,
    lowWaterMark: { bytes: 2 ** 20, fraction: 1 },
    onFailure: (cause) => failures.push(cause),
  });
  await writeFile(join(folder, 'filler'), Buffer.alloc(2 * 2 ** 20));

  const acknowledgedIds: string[] = [];
  const filling = (async () => {
    for (let i = 0; i < 5000; i++) {
      await write(store, `doc-${i}`);
      acknowledgedIds.push(`doc-${i}`);
    }
  })();
  await expect(filling).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  expect(acknowledgedIds.length).toBeGreaterThan(200);
  for (const id of acknowledgedIds) expect(await store.documents.get('index', id)).toMatchObject({ body: { id } });
  await expect(store.artifacts.write(new Uint8Array(2 ** 20), '')).rejects.toMatchObject({ code: 'STORAGE_FULL' });

  await rm(join(folder, 'filler'));
  await expect
    .poll(() =>
      write(store, 'after').then(
        () => 'written',
        () => 'refused',
      ),
    )
    .toBe('written');
  await store.close();
  await home.close();
  home = await openHome(join(folder, 'home'));
  store = await openStore({ home, onFailure: (cause) => failures.push(cause) });
  expect(await store.documents.ids('index')).toHaveLength(acknowledgedIds.length + 1);
  expect(failures).toEqual([]);
  await store.close();
  await home.close();
});

test(
  'a service on a full volume refuses writes with 503, continues to read and delete, and writes again when space is free',
  { timeout: 120_000 },
  async ({ skip }) => {
    const folder = await mountSmallVolume();
    if (folder === undefined) return skip('mounting a small volume needs more rights than this user has');
    await writeFile(join(folder, 'filler'), Buffer.alloc(4 * 2 ** 20));
    const service = await startService(join(folder, 'home'), [
      '--log-level',
      'error',
      '--workers',
      '1',
      '--drain-ms',
      '0',
    ]);
    const ask = (method: string, path: string, body?: unknown) =>
      fetch(
        `${service.url}${path}`,
        body === undefined
          ? { method }
          : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
      );
    const put = (i: number) =>
      ask('PUT', `/data/watchlists/w${i}`, {
        name: `w${i}`,
        identifiers: Array.from({ length: 1000 }, (_, k) => `NAME-${i}-${k}`),
      });
    try {
      let acknowledgedCount = 0;
      let refusal: Response | undefined;
      while (acknowledgedCount < 5000) {
        const response = await put(acknowledgedCount);
        if (response.status !== 200) {
          refusal = response;
          break;
        }
        await response.arrayBuffer();
        acknowledgedCount++;
      }
      const { error } = (await refusal!.json()) as { readonly error: { readonly code: string } };
      expect([refusal!.status, error.code, Number(refusal!.headers.get('retry-after')) > 0]).toEqual([
        503,
        'STORAGE_FULL',
        true,
      ]);
      expect(acknowledgedCount).toBeGreaterThan(20);
      for (let i = 0; i < acknowledgedCount; i++) expect((await ask('GET', `/data/watchlists/w${i}`)).status).toBe(200);
      expect((await ask('GET', '/health')).status).toBe(200);
      expect((await ask('DELETE', '/data/watchlists/w0')).status).toBe(204);

      await rm(join(folder, 'filler'));
      await expect.poll(async () => (await put(0)).status).toBe(200);
    } finally {
      service.child.kill('SIGTERM');
    }
    expect(await service.ended).toBe(0);
  },
);
