import { createHash } from 'node:crypto';
import { closeSync, fstat as fstatCallback, fstatSync, open as openCallback, openSync } from 'node:fs';
import { access, link, mkdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Refusal } from '#domain/refusals/refusal.js';
import { refuseDamagedArtifact } from '../access/artifact-damage.js';
import { createArtifactName } from './artifact-owners.js';
import type { ArtifactLink, ArtifactRef, ArtifactStore } from '../port.js';
import { createDamageCheck } from './damaged-files.js';
import { copyFlushed, digestFile, type FileDigest } from './file-digest.js';
import { WRITE_MS, type FolderCall } from '../access/folder-calls.js';
import { guardFolder, noGuard, type FolderGuard } from '../access/folder-guard.js';
import { closeBy, flushFolder, openBy as openHandle, writeFlushed } from './flush-folder.js';
import { readRange, streamFrom, verifyFile } from './file-stream.js';
import { formatDraftPath, removeFiles } from './folder-writer.js';
import { openFolderTrash, createNoTrash } from './folder-trash.js';
import { sweepFolder } from './sweep-folder.js';
import { watchFreeSpace, type FreeSpace } from './free-space.js';
import { createThreadHash, type BackgroundHash, type PassingHash } from './passing-hash.js';

const openFile = promisify(openCallback);
const fstat = promisify(fstatCallback);

interface FolderOptions {
  /** Expected store id of a shared folder, which may become unavailable. */
  readonly storeId?: string | undefined;
  readonly guard?: FolderGuard;
  readonly hashApart?: BackgroundHash | undefined;
}

/** Opens an artifact store in one folder. A file gets its final name only when it is complete on disk. */
export async function openArtifacts(
  folder: string,
  freeSpace: FreeSpace = watchFreeSpace(folder),
  { storeId, guard = storeId === undefined ? noGuard : guardFolder(folder, storeId), hashApart }: FolderOptions = {},
): Promise<ArtifactStore> {
  if (storeId === undefined) await mkdir(folder, { recursive: true });
  const { call } = guard;
  const getPath = (name: string): string => join(folder, name);
  const createPassingHash = ({ bytes }: ArtifactRef): PassingHash => hashApart?.(bytes) ?? createThreadHash();
  /** Names of files in a shared folder that a worker of this process is writing. */
  const claimedNames = new Set<string>();

  async function isIntact(ref: ArtifactRef): Promise<boolean> {
    let file: number | undefined;
    try {
      file = await openArtifact(ref);
      await verifyFile({ file, ref, hash: createPassingHash(ref) }, call);
      return true;
    } catch {
      return false; // an unreadable file is not intact, whatever the reason
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  async function remove(names: readonly string[]): Promise<void> {
    for (const name of names) claimedNames.delete(name);
    await removeFiles(folder, names, call);
  }

  const trash = storeId === undefined ? createNoTrash(folder, remove) : openFolderTrash(folder, { call, remove });

  /** Opens a file. Works synchronously if the folder is local. */
  const openArtifact = (ref: ArtifactRef): number | Promise<number> =>
    storeId === undefined ? openChecked(getPath(ref.name), ref) : openBy(call, getPath(ref.name), ref);

  async function linkArtifact(ref: ArtifactRef, name: string): Promise<void> {
    closeSync(await openArtifact(ref));
    try {
      await call(() => link(getPath(ref.name), getPath(name)), WRITE_MS);
    } catch (thrown) {
      if (thrown instanceof Refusal) throw thrown;
      if (isAbsent(thrown)) throw refuseFile(ref, thrown);
      await copyDurably(getPath(ref.name), getPath(name), call); // the file system has no hard links
    }
  }

  async function linkArtifacts(files: readonly ArtifactLink[], isAgain: boolean): Promise<readonly ArtifactRef[]> {
    const names = files.map(({ name }) => name);
    if (isAgain) await remove(names);
    const outcomes = await Promise.allSettled(files.map(({ ref, name }) => linkArtifact(ref, name)));
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure !== undefined) {
      await remove(names).catch(() => {}); // garbage collection removes the files later
      throw failure.reason;
    }
    return files.map(({ ref, name }) => ({ ...ref, name }));
  }

  return {
    destination: { kind: 'folder', folder, lowWaterMark: freeSpace.mark, ...(storeId && { storeId }) },
    write: (bytes, sha256) =>
      guard.work(async () => {
        await freeSpace.admit(bytes.length);
        const name = createArtifactName();
        const draftPath = formatDraftPath(getPath(name));
        await writeFlushed(draftPath, bytes, call);
        await call(() => rename(draftPath, getPath(name)), WRITE_MS);
        await flushFolder(folder, call);
        return { name, bytes: bytes.length, sha256 };
      }),
    async writeFile(file) {
      const { size } = await stat(file);
      return guard.work(() => copyFileIn({ folder, call, freeSpace }, file, size));
    },
    newName: createArtifactName,
    link: (files) => guard.work((isAgain) => linkArtifacts(files, isAgain)),
    settle: () => guard.work(() => flushFolder(folder, call)),
    async stream(ref, range) {
      const file = await openArtifact(ref);
      if (range) return streamFrom([{ file, ...range }], call);
      try {
        // Damage is reported before the first byte is sent.
        const sum = await verifyFile({ file, ref, hash: createPassingHash(ref) }, call);
        const checkedEnd = { ref, crc32: sum };
        return streamFrom([{ file, start: 0, end: ref.bytes, passed: { crc32: 0 }, ends: checkedEnd }], call);
      } catch (thrown) {
        closeSync(file);
        throw thrown;
      }
    },
    async read(ref, range = { start: 0, end: ref.bytes }) {
      const file = await openArtifact(ref);
      try {
        const bytes = await readRange(file, range, call);
        const isWhole = range.start === 0 && range.end === ref.bytes;
        if (isWhole && createHash('sha256').update(bytes).digest('hex') !== ref.sha256) throw refuseFile(ref);
        return bytes;
      } finally {
        closeSync(file);
      }
    },
    isIntact,
    damaged: createDamageCheck({ path: getPath, isIntact, call }),
    async file({ name }) {
      if (storeId !== undefined && !claimedNames.has(name)) await assertArtifactsExist(getPath(name), name, call);
      return getPath(name);
    },
    async claim(bytes) {
      await freeSpace.admit(bytes);
      const name = createArtifactName();
      if (storeId !== undefined) claimedNames.add(name);
      return name;
    },
    remove,
    discard: (names) => trash.take(names),
    restore: (names) => trash.restore(names),
    sweep: (referenced, terms) => sweepFolder({ folder, call, trash }, referenced, terms),
  };
}

interface Target {
  readonly folder: string;
  readonly call: FolderCall;
  readonly freeSpace: FreeSpace;
}

/** Adds a copy of a file to a folder. For a file of the same folder, adds a hard link. */
async function copyFileIn({ folder, call, freeSpace }: Target, file: string, size: number): Promise<ArtifactRef> {
  const name = createArtifactName();
  const targetPath = join(folder, name);
  try {
    const linkedDigest = dirname(file) === folder ? await linkDurably(file, targetPath, call) : undefined;
    if (linkedDigest === undefined) await freeSpace.admit(size);
    const fileDigest = linkedDigest ?? (await copyDurably(file, targetPath, call));
    await flushFolder(folder, call);
    return { name, ...fileDigest };
  } catch (thrown) {
    await removeFiles(folder, [name], call).catch(() => {}); // garbage collection removes the file later
    throw thrown;
  }
}

/**
 * Copies a file and writes the copy to disk. An incomplete copy never has the name of an artifact. @throws the error of
 * the file system
 */
async function copyDurably(from: string, to: string, call: FolderCall): Promise<FileDigest> {
  const fileDigest = await copyFlushed(from, formatDraftPath(to), call);
  await call(() => rename(formatDraftPath(to), to), WRITE_MS);
  return fileDigest;
}

/**
 * Creates a hard link to a file of the folder and writes it to disk. Returns undefined if the file system has no hard
 * links.
 */
async function linkDurably(from: string, to: string, call: FolderCall): Promise<FileDigest | undefined> {
  const file = await openHandle(call, from, 'r+');
  try {
    await call(() => file.datasync(), WRITE_MS);
  } finally {
    await closeBy(call, file);
  }
  const digest = await digestFile(from);
  try {
    await call(() => link(from, to), WRITE_MS);
  } catch (thrown) {
    if (thrown instanceof Refusal || isAbsent(thrown)) throw thrown;
    return undefined;
  }
  return digest;
}

async function assertArtifactsExist(path: string, name: string, call: FolderCall): Promise<void> {
  try {
    await call(() => access(path));
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    throw refuseDamagedArtifact(name, cause);
  }
}

/** Opens a file and checks its size. An open file keeps its content after its deletion, so that readers can finish. */
function openChecked(path: string, ref: ArtifactRef): number {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (cause) {
    throw refuseFile(ref, cause);
  }
  if (fstatSync(file).size === ref.bytes) return file;
  closeSync(file);
  throw refuseFile(ref);
}

/** Opens a file like `openChecked`, but asynchronously. For a folder that may not answer. */
async function openBy(call: FolderCall, path: string, ref: ArtifactRef): Promise<number> {
  let file: number | undefined;
  try {
    const openedFile = await call(() => openFile(path, 'r'), undefined, closeSync);
    file = openedFile;
    if ((await call(() => fstat(openedFile))).size === ref.bytes) return openedFile;
  } catch (cause) {
    if (file !== undefined) closeSync(file);
    throw cause instanceof Refusal ? cause : refuseFile(ref, cause);
  }
  closeSync(file);
  throw refuseFile(ref);
}

const refuseFile = ({ name }: ArtifactRef, cause?: unknown): Refusal => refuseDamagedArtifact(name, cause);

function isAbsent(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
}
