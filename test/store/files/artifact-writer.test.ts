import { createHash } from 'node:crypto';
import { cpSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { newArtifactName } from '#store/files/artifact-owners.js';
import { openArtifacts } from '#store/files/artifact-store.js';
import { watchFreeSpace } from '#store/files/free-space.js';
import type { ArtifactContent, ArtifactDestination } from '#store/port.js';
import { interceptFiles, watchCalls } from '../../durability/counted-calls.js';
import { temporaryFolders } from '../temporary-folder.js';

const newFolder = temporaryFolders();
let restore: () => void;
beforeAll(() => {
  restore = interceptFiles();
});
afterAll(() => restore());

const PART = 2 ** 20;
/** Around the part that is written at a time. */
const SIZES = [0, 1, PART - 1, PART, PART + 1, 3 * PART + 5];
const bytesOf = (size: number): Uint8Array => Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 255);
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const destinationOf = (folder: string): ArtifactDestination => ({ kind: 'folder', folder, lowWaterMark: {} });
const small = (names: readonly string[]): ArtifactContent[] =>
  names.map((name) => ({ name, bytes: new TextEncoder().encode(name) }));

test('what is written beside the store is read by it, with the hash of its definition', async () => {
  const artifacts = await openArtifacts(await newFolder());
  const contents = SIZES.map((size) => ({ name: artifacts.newName(), bytes: bytesOf(size) }));
  // What an order carries to another process.
  const destination = JSON.parse(JSON.stringify(artifacts.destination)) as ArtifactDestination;
  const refs = await openArtifactWriter(destination).write(contents);
  expect(refs).toEqual(contents.map(({ name, bytes }) => ({ name, bytes: bytes.length, sha256: sha256(bytes) })));
  for (const [i, ref] of refs.entries())
    expect(Buffer.compare(await artifacts.read(ref), contents[i]!.bytes), `${SIZES[i]} bytes`).toBe(0);
});

test('all are written or none, whichever call the disk refuses', async () => {
  let isReached = true;
  for (let refused = 1; isReached; refused++) {
    const folder = await newFolder();
    const artifacts = await openArtifacts(folder);
    let count = 0;
    isReached = false;
    watchCalls(folder, (call) => {
      if (++count !== refused || call === 'unlink') return;
      isReached = true;
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    });
    const written = openArtifactWriter(destinationOf(folder)).write(small(['a.art', 'b.art', 'c.art']));
    const outcome = await written.then(
      (refs) => refs.length,
      (thrown: NodeJS.ErrnoException) => thrown.code,
    );
    watchCalls(folder, undefined);
    expect(outcome, `call ${refused}`).toBe(isReached ? 'EIO' : 3);
    expect(await readdir(folder), `call ${refused}`).toHaveLength(isReached ? 0 : 3);
    await artifacts.remove(['a.art', 'b.art', 'c.art']);
    if (refused > 50) throw new Error('three files are written with fewer calls');
  }
});

test('at whichever call the process ends, a start removes what was written and named by nobody', async () => {
  const folder = await newFolder();
  const copies = await newFolder();
  let count = 0;
  watchCalls(folder, () => cpSync(folder, join(copies, String(count++)), { recursive: true }));
  await openArtifactWriter(destinationOf(folder)).write(small([newArtifactName(), newArtifactName()]));
  watchCalls(folder, undefined);
  cpSync(folder, join(copies, String(count)), { recursive: true });
  const seen = new Set<number>();
  for (let call = 0; call <= count; call++) {
    const copy = join(copies, String(call));
    seen.add((await readdir(copy)).length);
    const artifacts = await openArtifacts(copy);
    await artifacts.sweep(async () => new Set());
    expect(await readdir(copy)).toEqual([]);
  }
  expect([...seen]).toEqual([0, 1, 2]);
});

test('a file that was half written is removed by its name', async () => {
  const folder = await newFolder();
  const artifacts = await openArtifacts(folder);
  await writeFile(join(folder, 'a.art.new'), 'half');
  await writeFile(join(folder, 'b.art'), 'whole');
  await artifacts.remove(['a.art', 'b.art', 'c.art']);
  expect(await readdir(folder)).toEqual([]);
});

test('below the mark of the store nothing is written', async () => {
  const folder = join(await newFolder(), 'artifacts');
  await mkdir(folder);
  const { destination } = await openArtifacts(folder, watchFreeSpace(folder, { bytes: 2 ** 60, fraction: 1 }));
  await expect(openArtifactWriter(destination).write(small(['a.art']))).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  expect(await readdir(folder)).toEqual([]);
});
