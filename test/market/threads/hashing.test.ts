import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BLOCK_DAYS, createBlockDigests, createZeroPanel, type Panels } from '#market/panels/panels.js';
import { createGrowingDigests, digestFilesApart, THREAD_BYTES_MIN } from '#market/panels/hashing.js';
import type { SourceDigest, SourceFile } from '#market/formats/source-file.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();

/** Returns panels of two blocks of days. They are large enough to be hashed by a separate thread. */
function createLargePanels(seed: number): Panels {
  const days = 2 * BLOCK_DAYS;
  const assets = Math.ceil(THREAD_BYTES_MIN / (2 * 8 * days));
  const createPanel = (first: number): Float64Array => {
    const panel = createZeroPanel(days * assets);
    for (let cell = 0; cell < panel.length; cell += 1000) panel[cell] = first + cell;
    return panel;
  };
  return {
    identifiers: Array.from({ length: assets }, (_, n) => `N${n}`),
    dates: Int32Array.from({ length: days }, (_, t) => 19_000 + t),
    fields: new Map([
      ['VOLUME', createPanel(seed)],
      ['CLOSE', createPanel(2 * seed)],
    ]),
  };
}

test('blocks of large panels have the digests that they have on one thread, and those of panels before are forgotten', async () => {
  const growingDigests = createGrowingDigests();
  growingDigests.begin(createLargePanels(5));
  growingDigests.complete(0, 2 * BLOCK_DAYS);
  const panels = createLargePanels(7);
  growingDigests.begin(panels);
  growingDigests.complete(BLOCK_DAYS, 2 * BLOCK_DAYS);
  growingDigests.complete(0, BLOCK_DAYS);
  const result = await growingDigests.awaitBlocks();
  await growingDigests.end();
  const computeDigest = createBlockDigests(panels);
  expect(result!.fields).toBe(panels.fields);
  expect(new Map([...result!.digests].map(([block, digest]) => [block, Buffer.from(digest).toString('hex')]))).toEqual(
    new Map([0, 1].map((block) => [block, Buffer.from(computeDigest(block)).toString('hex')])),
  );
});

test('large files have the digests that they have on one thread, and one that is not there is a failure', async () => {
  const path = join(await createFolder(), 'market.parquet');
  const bytes = Buffer.alloc(THREAD_BYTES_MIN + 3, 'bytes');
  await writeFile(path, bytes);
  const file = { path, label: 'market', bytes: (await stat(path)).size } as SourceFile;
  const digests: SourceDigest[] = [];
  await digestFilesApart([file], digests);
  expect(digests).toEqual([
    { label: 'market', bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
  ]);
  await expect(digestFilesApart([{ ...file, path: `${path}.gone` }], digests)).rejects.toThrow(/ENOENT/);
});
