import { createHash } from 'node:crypto';
import { constants, cpSync, readFileSync } from 'node:fs';
import { mkdir, open, readdir, unlink, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { joinBytes, type ProducedBytes } from '#base/bytes.js';
import { allocatePageMemory } from '#base/memory.js';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { createArtifactName } from '#store/artifacts/artifact.js';
import { openArtifacts } from '#store/artifacts/folder-store.js';
import { watchFreeSpace } from '#store/artifacts/free-space.js';
import type { ArtifactContent, ArtifactDestination } from '#store/port.js';
import { interceptFiles, watchCalls } from '../../durability/counted-calls.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();
let restore: () => void;
beforeAll(() => {
  restore = interceptFiles();
});
afterAll(() => restore());

const PART = 2 ** 20;
/** File sizes near the size of one write, and near the blocks and sectors of large files. */
const SIZES = [0, 1, PART - 1, PART, PART + 1, 3 * PART + 5, 4 * PART, 4 * PART + 4097, 6 * PART - 1];
const createBytes = (size: number): Uint8Array => {
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i++) bytes[i] = i * 31 + (i >> 8);
  return bytes;
};
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const createDestination = (folder: string): ArtifactDestination => ({ kind: 'folder', folder, lowWaterMark: {} });
const createSmallArtifacts = (names: readonly string[]): ArtifactContent[] =>
  names.map((name) => ({ name, bytes: new TextEncoder().encode(name) }));

test('a file written outside the store is readable by it, with the hash of its definition', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const contents = SIZES.map((size) => ({ name: artifacts.newName(), bytes: createBytes(size) }));
  // The order to another process contains the destination as JSON.
  const destination = JSON.parse(JSON.stringify(artifacts.destination)) as ArtifactDestination;
  const refs = await openArtifactWriter(destination).write(contents);
  expect(refs).toEqual(contents.map(({ name, bytes }) => ({ name, bytes: bytes.length, sha256: sha256(bytes) })));
  for (const [i, ref] of refs.entries())
    expect(Buffer.compare(await artifacts.read(ref), contents[i]!.bytes), `${SIZES[i]} bytes`).toBe(0);
});

/** Creates memory parts of the given sizes, each filled with one value. */
const createParts = (sizes: readonly number[]): ProducedBytes => ({
  length: sizes.reduce((sum, size) => sum + size, 0),
  *parts() {
    const buffer = new Uint8Array(Math.max(...sizes));
    for (const [i, size] of sizes.entries()) yield buffer.subarray(0, size).fill(i + 1);
  },
});

test('bytes produced in parts are written like one whole', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const name = artifacts.newName();
  const result = createParts([3, PART + 1, 1]);
  const [ref] = await openArtifactWriter(artifacts.destination).write([{ name, bytes: result }]);
  const bytes = new Uint8Array(PART + 5)
    .fill(1, 0, 3)
    .fill(2, 3, PART + 4)
    .fill(3, PART + 4);
  expect(ref).toEqual({ name, bytes: bytes.length, sha256: sha256(bytes) });
  expect(Buffer.compare(await artifacts.read(ref!), bytes)).toBe(0);
  expect(Buffer.compare(joinBytes(result), bytes)).toBe(0);
});

test('a large file is flushed while it is written and again at the end, and does not exist if any flush fails', async () => {
  const large = createParts(Array.from({ length: 130 }, () => PART));
  const folder = await createFolder();
  const handle = await open(join(folder, 'other'), 'w');
  const files = Object.getPrototypeOf(handle) as FileHandle; // the prototype of all open files
  await handle.close();
  await unlink(join(folder, 'other'));
  const { datasync } = files;
  let count = 0;
  try {
    for (const refusedCall of [1, 2, 3, 4]) {
      count = 0;
      files.datasync = function (this: FileHandle) {
        if (++count === refusedCall) return Promise.reject(new Error('EIO'));
        return Reflect.apply(datasync, this, []);
      };
      const writing = openArtifactWriter(createDestination(folder)).write([
        { name: `${refusedCall}.art`, bytes: large },
      ]);
      if (refusedCall < 4) await expect(writing).rejects.toThrow('EIO');
      else await writing;
      expect(await readdir(folder)).toEqual(refusedCall < 4 ? [] : ['4.art']);
    }
    expect(count).toBe(3);
  } finally {
    files.datasync = datasync;
  }
});

async function runWithWrites(
  write: (this: FileHandle, rest: readonly unknown[], writeWhole: FileHandle['write']) => unknown,
  run: () => Promise<void>,
): Promise<void> {
  const folder = await createFolder();
  const handle = await open(join(folder, 'other'), 'w');
  const files = Object.getPrototypeOf(handle) as FileHandle; // the prototype of all open files
  await handle.close();
  const { write: whole } = files;
  files.write = function (this: FileHandle, ...rest: unknown[]) {
    return Reflect.apply(write, this, [rest, whole]);
  } as FileHandle['write'];
  try {
    await run();
  } finally {
    files.write = whole;
  }
}

/** Returns true if a file is written without the page cache of the system. Works only on Linux. */
function isDirect({ fd }: FileHandle): boolean {
  const flags = /flags:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))![1]!;
  return (Number.parseInt(flags, 8) & constants.O_DIRECT) !== 0;
}

test.runIf(process.platform === 'linux')(
  'a large file has equal bytes if the disk refuses uncached writes, or accepts a part of them',
  async () => {
    const bytes = createBytes(7 * PART + 3);
    for (const refusedCall of [1, 2, 3, 4]) {
      const artifacts = await openArtifacts(await createFolder());
      let count = 0;
      const code = refusedCall === 2 ? 'EINVAL' : 'ENOTSUP';
      const fault = Object.assign(new Error(code), { code });
      await runWithWrites(
        function (rest, writeWhole) {
          const [part, offset, , position] = rest as [Uint8Array, number, number, number];
          if (!isDirect(this) || ++count !== refusedCall) return Reflect.apply(writeWhole, this, rest);
          return refusedCall % 2 === 0
            ? Promise.reject(fault)
            : Reflect.apply(writeWhole, this, [part, offset, 8192, position]);
        },
        async () => {
          const name = artifacts.newName();
          const [ref] = await openArtifactWriter(artifacts.destination).write([{ name, bytes }]);
          expect(ref!.sha256).toBe(sha256(bytes));
          expect(Buffer.compare(await artifacts.read(ref!), bytes), `call ${refusedCall}`).toBe(0);
        },
      );
    }
  },
);

test('bytes are written correctly from any position in memory', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const memory = allocatePageMemory(8 * PART) as ArrayBufferLike as ArrayBuffer; // file writes accept shared memory as well
  for (const offset of [0, 4096, 8])
    for (const size of [4 * PART, 4 * PART + 4097, 7 * PART - 1]) {
      const bytes = new Uint8Array(memory, offset, size);
      bytes.set(createBytes(size));
      const [ref] = await openArtifactWriter(artifacts.destination).write([{ name: artifacts.newName(), bytes }]);
      expect(ref!.sha256, `${size} bytes from ${offset}`).toBe(sha256(bytes));
      expect(Buffer.compare(await artifacts.read(ref!), bytes), `${size} bytes from ${offset}`).toBe(0);
    }
});

test('two large files that are written concurrently keep their bytes apart', async () => {
  const artifacts = await openArtifacts(await createFolder());
  const contents = [9, 11, 10].map((parts) => ({
    name: artifacts.newName(),
    bytes: new Uint8Array(parts * (PART - 1)).fill(parts),
  }));
  const refs = await openArtifactWriter(artifacts.destination).write(contents);
  for (const [i, ref] of refs.entries()) {
    expect(ref.sha256).toBe(sha256(contents[i]!.bytes));
    expect(Buffer.compare(await artifacts.read(ref), contents[i]!.bytes)).toBe(0);
  }
});

test('all files are written or none, whichever call the disk refuses', async () => {
  let isReached = true;
  for (let refusedCall = 1; isReached; refusedCall++) {
    const folder = await createFolder();
    const artifacts = await openArtifacts(folder);
    let count = 0;
    isReached = false;
    watchCalls(folder, (call) => {
      if (++count !== refusedCall || call === 'unlink') return;
      isReached = true;
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    });
    const writing = openArtifactWriter(createDestination(folder)).write(
      createSmallArtifacts(['a.art', 'b.art', 'c.art']),
    );
    const outcome = await writing.then(
      (refs) => refs.length,
      (thrown: NodeJS.ErrnoException) => thrown.code,
    );
    watchCalls(folder, undefined);
    expect(outcome, `call ${refusedCall}`).toBe(isReached ? 'EIO' : 3);
    expect(await readdir(folder), `call ${refusedCall}`).toHaveLength(isReached ? 0 : 3);
    await artifacts.remove(['a.art', 'b.art', 'c.art']);
    if (refusedCall > 50) throw new Error('three files are written with fewer calls');
  }
});

test('at whichever call the process ends, a start removes orphaned files', async () => {
  const folder = await createFolder();
  const copiesFolder = await createFolder();
  let count = 0;
  watchCalls(folder, () => cpSync(folder, join(copiesFolder, String(count++)), { recursive: true }));
  await openArtifactWriter(createDestination(folder)).write(
    createSmallArtifacts([createArtifactName(), createArtifactName()]),
  );
  watchCalls(folder, undefined);
  cpSync(folder, join(copiesFolder, String(count)), { recursive: true });
  const seenSizes = new Set<number>();
  for (let call = 0; call <= count; call++) {
    const copyFolder = join(copiesFolder, String(call));
    seenSizes.add((await readdir(copyFolder)).length);
    const artifacts = await openArtifacts(copyFolder);
    await artifacts.sweep(async () => new Set());
    expect(await readdir(copyFolder)).toEqual([]);
  }
  expect([...seenSizes]).toEqual([0, 1, 2]);
});

test('a partially written file is removed by its name', async () => {
  const folder = await createFolder();
  const artifacts = await openArtifacts(folder);
  await writeFile(join(folder, 'a.art.new'), 'half');
  await writeFile(join(folder, 'b.art'), 'whole');
  await artifacts.remove(['a.art', 'b.art', 'c.art']);
  expect(await readdir(folder)).toEqual([]);
});

test('below the low-space limit of the store nothing is written', async () => {
  const folder = join(await createFolder(), 'artifacts');
  await mkdir(folder);
  const { destination } = await openArtifacts(folder, watchFreeSpace(folder, { bytes: 2 ** 60, fraction: 1 }));
  await expect(openArtifactWriter(destination).write(createSmallArtifacts(['a.art']))).rejects.toMatchObject({
    code: 'STORAGE_FULL',
  });
  expect(await readdir(folder)).toEqual([]);
});
