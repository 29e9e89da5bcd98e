import { createHash } from 'node:crypto';
import {
  closeSync,
  fstat as fstatCallback,
  fstatSync,
  open as openCallback,
  openSync,
  read as readCallback,
  type Stats,
  statSync,
} from 'node:fs';
import { access, link, mkdir, readdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { Refusal } from '#domain/base/refusals.js';
import { type ArtifactLink, type ArtifactRef, type ArtifactStore, type DatedArtifact, SWEEP_PAGE } from '../port.js';
import { workInTurns } from '../reach.js';
import { createArtifactName, ignoreAbsentFile, isArtifactName, refuseDamagedArtifact, TRASH } from './artifact.js';
import {
  closeBy,
  copyFlushed,
  digestFile,
  type FileDigest,
  type FolderCall,
  type FolderGuard,
  formatDraftPath,
  guardFolder,
  noGuard,
  openBy as openHandle,
  removeDraftSuffix,
  removeFiles,
  syncFolder,
  WRITE_MS,
  writeFlushed,
} from './durable-files.js';
import { type FreeSpace, watchFreeSpace } from './free-space.js';

/** Maximum number of files that are recorded as verified. It is enough for the columns and prices of 10,000 runs. */
const REMEMBERED_FILES_MAX = 32_768;
/**
 * Maximum number of bytes that one check verifies. Reading and hashing them takes about 0.3 s. Later checks verify the
 * other files.
 */
const VERIFIED_BYTES_MAX = 512 * 2 ** 20;
/** Number of concurrent checks. It keeps the threads for file access busy. */
const CHECK_CONCURRENCY = 16;

interface DamageCheckInput {
  path(name: string): string;
  isIntact(ref: DatedArtifact['ref']): Promise<boolean>;
  readonly call: FolderCall;
  /** True for a local folder, whose metadata takes microseconds. The threads for file access may be busy with writes. */
  readonly isLocal: boolean;
}

/** File whose bytes must be verified. */
interface ChangedFile {
  readonly ref: DatedArtifact['ref'];
  readonly state: string;
}

/** Creates the check of `ArtifactStore.damaged`. It compares the metadata of files and verifies only changed files. */
function createDamageCheck({ path, isIntact, call, isLocal }: DamageCheckInput) {
  /** Metadata of verified files, least recently verified first. */
  const verifiedStates = new Map<string, string>();

  function remember(name: string, state: string): void {
    verifiedStates.delete(name);
    verifiedStates.set(name, state);
    for (const oldest of verifiedStates.keys())
      if (verifiedStates.size > REMEMBERED_FILES_MAX) verifiedStates.delete(oldest);
  }

  return async (files: readonly DatedArtifact[]): Promise<ReadonlySet<string>> => {
    const damagedNames = new Set<string>();
    const changedFiles: ChangedFile[] = [];

    function compare({ ref, madeAt }: DatedArtifact, found: Stats | undefined): void {
      if (found?.size !== ref.bytes) return void damagedNames.add(ref.name);
      const state = formatState(found);
      if (found.mtimeMs > madeAt && verifiedStates.get(ref.name) !== state) changedFiles.push({ ref, state });
    }

    async function verify({ ref, state }: ChangedFile): Promise<void> {
      if (await isIntact(ref)) remember(ref.name, state);
      else damagedNames.add(ref.name);
    }

    if (isLocal)
      await workInTurns(files, (file) => compare(file, statSync(path(file.ref.name), { throwIfNoEntry: false })));
    else
      await runConcurrently(files, async (file) =>
        compare(file, await call(() => stat(path(file.ref.name)).catch(ignoreAbsent))),
      );
    let leftBytes = VERIFIED_BYTES_MAX;
    const verifiedFiles = changedFiles.filter(({ ref: { bytes } }) => {
      if (bytes > leftBytes) return false;
      leftBytes -= bytes;
      return true;
    });
    await runConcurrently(verifiedFiles, verify);
    return damagedNames;
  };
}

async function runConcurrently<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const remainingItems = items.values();
  const runNext = async (): Promise<void> => {
    for (const item of remainingItems) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(CHECK_CONCURRENCY, items.length) }, runNext));
}

const formatState = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string =>
  [dev, ino, size, mtimeMs, ctimeMs].join(' ');

function ignoreAbsent(thrown: unknown): undefined {
  if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
  throw thrown;
}

/** Incremental SHA-256. */
interface PassingHash {
  /** Adds bytes to the hash. They must not change until the promise resolves. Calls must not overlap. */
  add(bytes: Uint8Array): Promise<void> | void;
  /** Returns the hash of all bytes, hex. Called once. */
  hex(): Promise<string> | string;
}

/**
 * Function that returns a hash on another thread for about this many bytes. It returns undefined if this thread must
 * hash them.
 */
export type BackgroundHash = (bytes: number) => PassingHash | undefined;

function createThreadHash(): PassingHash {
  const hash = createHash('sha256');
  return { add: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}

const readFile = promisify(readCallback);

/**
 * Number of bytes per read of a stream. A run of 20 MB takes 80 reads, and the buffers of 1,000 slow readers fit in
 * memory.
 */
const CHUNK_BYTES = 256 * 1024;

/** Maximum number of bytes per call. A large result takes several calls, each with a time limit. */
const PIECE_BYTES = 16 << 20;

/** Size of the buffer of one verification. It is small, because a thousand readers may start at once. */
const VERIFIED_BYTES = 256 * 1024;

export type Range = { readonly start: number; readonly end: number };

/** Bytes `start` to `end` (exclusive) of an open file. */
interface FileRange extends Range {
  readonly file: number;
  /** CRC-32 of the bytes of the artifact read so far. */
  readonly passed?: { crc32: number };
  /** Artifact that ends with this range, and the CRC-32 from its verification. */
  readonly ends?: { readonly ref: ArtifactRef; readonly crc32: number };
}

/** Streams the bytes of consecutive ranges. If the caller supplies a buffer (`byob`), reads allocate no chunks. */
function streamFrom(ranges: readonly FileRange[], call: FolderCall): ReadableStream<Uint8Array> {
  const files = new Set(ranges.map(({ file }) => file));
  const leftFileRanges = ranges.filter(({ start, end, ends }) => end > start || ends);
  let offset = leftFileRanges[0]?.start ?? 0;
  let isOpen = true;
  let isReading = false;
  const closeFiles = (): void => files.forEach((file) => closeSync(file));
  const close = (): void => {
    if (isOpen && !isReading) closeFiles(); // the system may reuse the descriptors as soon as they are closed
    isOpen = false;
  };

  /**
   * Reads a part of a range. After the last part, checks the CRC-32, because the file may have changed since its
   * verification.
   */
  async function addPart({ file, end, passed, ends }: FileRange, part: Uint8Array): Promise<void> {
    await fill(file, part, offset, call);
    if (passed) passed.crc32 = crc32(part, passed.crc32);
    if (ends && offset + part.length === end && passed!.crc32 !== ends.crc32)
      throw refuseDamagedArtifact(ends.ref.name);
  }

  return new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: CHUNK_BYTES,
    async pull(controller) {
      const request = controller.byobRequest!; // always present because of autoAllocateChunkSize
      const { buffer, byteOffset, byteLength } = request.view!;
      let length = 0;
      try {
        for (let range = leftFileRanges[0]; range && length === 0; range = leftFileRanges[0]) {
          const chunk = new Uint8Array(buffer, byteOffset, Math.min(byteLength, range.end - offset));
          isReading = true;
          await addPart(range, chunk).finally(() => (isReading = false));
          if (!isOpen) return closeFiles(); // cancelled meanwhile
          length = chunk.length;
          offset += length;
          if (offset < range.end) continue;
          leftFileRanges.shift();
          offset = leftFileRanges[0]?.start ?? 0;
        }
      } catch (thrown) {
        close();
        controller.error(thrown);
        return;
      }
      if (length > 0) request.respond(length);
      if (leftFileRanges.length > 0) return;
      close();
      controller.close();
      if (length === 0) request.respond(0); // completes a pending read without bytes
    },
    cancel: close,
  });
}

async function readRange(file: number, { start, end }: Range, call: FolderCall): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  await fill(file, bytes, start, call);
  return bytes;
}

async function fill(file: number, bytes: Uint8Array, start: number, call: FolderCall): Promise<void> {
  let filledBytes = 0;
  while (filledBytes < bytes.length) {
    const [length, offset] = [Math.min(bytes.length - filledBytes, PIECE_BYTES), filledBytes];
    const { bytesRead } = await call(() => readFile(file, bytes, offset, length, start + offset));
    if (bytesRead === 0) throw new Error(`the file ended ${bytes.length - filledBytes} bytes early`);
    filledBytes += bytesRead;
  }
}

interface Verification {
  readonly file: number;
  readonly ref: Pick<ArtifactRef, 'name' | 'bytes' | 'sha256'>;
  readonly hash: PassingHash;
}

/**
 * Verifies an open file against its hash.
 * @returns its CRC-32, which checks a second read at a third of the cost
 * @throws Refusal DOCUMENT_UNREADABLE
 * @cost one read of the file; at most 256 KiB of memory
 */
async function verifyFile({ file, ref, hash }: Verification, call: FolderCall): Promise<number> {
  let crc = 0;
  const buffer = new Uint8Array(Math.min(ref.bytes, VERIFIED_BYTES));
  for (let offset = 0; offset < ref.bytes; offset += buffer.length) {
    const chunk = buffer.subarray(0, ref.bytes - offset);
    await fill(file, chunk, offset, call);
    const pendingHash = hash.add(chunk);
    crc = crc32(chunk, crc); // while another thread hashes the part
    await pendingHash;
  }
  if ((await hash.hex()) !== ref.sha256) throw refuseDamagedArtifact(ref.name);
  return crc;
}

/** Trash that keeps orphaned results until their deletion. */
interface FolderTrash {
  take(names: readonly string[]): Promise<void>;
  /** Moves files back to the folder. @returns names that are neither in the folder nor in its trash */
  restore(names: readonly string[]): Promise<readonly string[]>;
  /** Deletes files that have been in the trash for at least this time. */
  empty(olderThanMs: number): Promise<void>;
}

interface TrashOptions {
  readonly call: FolderCall;
  /** Deletes files of the folder. */
  readonly remove: (names: readonly string[]) => Promise<void>;
}

function openFolderTrash(folder: string, { call, remove }: TrashOptions): FolderTrash {
  const trashFolder = join(folder, TRASH);

  async function trashFile(name: string): Promise<void> {
    // Deletes a draft, and does not move it to the trash. The file without the draft suffix may be complete and in use.
    if (removeDraftSuffix(name) !== name) return remove([name]);
    await call(() => rename(join(folder, name), join(trashFolder, name)), WRITE_MS).catch(ignoreAbsentFile);
  }

  async function restoreFile(name: string): Promise<string | undefined> {
    const isPresent = await call(() => access(join(folder, name))).then(() => true, ignoreAbsentFile);
    if (isPresent === true) return undefined;
    const isBack = await call(() => rename(join(trashFolder, name), join(folder, name)), WRITE_MS).then(
      () => true,
      ignoreAbsentFile,
    );
    return isBack === true ? undefined : name;
  }

  return {
    async take(names) {
      if (names.length === 0) return;
      await call(() => mkdir(trashFolder, { recursive: true }));
      for (const name of names) await trashFile(name);
    },
    async restore(names) {
      const missingNames: string[] = [];
      for (const name of names) {
        const result = await restoreFile(name);
        if (result !== undefined) missingNames.push(result);
      }
      return missingNames;
    },
    async empty(olderThanMs) {
      const oldNames = await readNames(trashFolder, olderThanMs, call).catch(ignoreAbsentFile);
      if (oldNames !== undefined) await removeFiles(trashFolder, oldNames, call);
    },
  };
}

/** Creates a trash that deletes files at once. It is for a local folder, because its backups contain deleted files. */
function createNoTrash(folder: string, remove: TrashOptions['remove']): FolderTrash {
  return {
    take: remove,
    async restore(names) {
      const result = await Promise.all(
        names.map((name) => access(join(folder, name)).then(() => true, ignoreAbsentFile)),
      );
      return names.filter((_, i) => result[i] !== true);
    },
    empty: async () => {},
  };
}

/**
 * Lists the names in a folder, including those that are not of artifacts.
 * @param olderThanMs minimum age by the change time of the inode: a new hard link to an old file counts as new, and so
 * does a moved file
 */
async function readNames(
  folder: string,
  olderThanMs: number | undefined,
  call: FolderCall,
): Promise<readonly string[]> {
  const names = await call(() => readdir(folder), WRITE_MS);
  if (olderThanMs === undefined) return names;
  const deletedBefore = Date.now() - olderThanMs;
  const oldNames: string[] = [];
  for (const name of names) {
    const result = await call(() => stat(join(folder, name))).catch(() => undefined); // another process may have removed the file in the meantime
    if (result !== undefined && result.ctimeMs < deletedBefore) oldNames.push(name);
  }
  return oldNames;
}

interface SweepInput {
  readonly folder: string;
  readonly call: FolderCall;
  readonly trash: FolderTrash;
}

/** Discards orphaned files, page by page, then empties the trash. @returns the number of discarded files */
async function sweepFolder(
  { folder, call, trash }: SweepInput,
  referenced: Parameters<ArtifactStore['sweep']>[0],
  { olderThanMs, trashMs = 0, pauseMs = 0, isWanted = () => true }: Parameters<ArtifactStore['sweep']>[1] = {},
): Promise<number> {
  const names = (await readNames(folder, olderThanMs, call)).filter((name) => isArtifactName(removeDraftSuffix(name)));
  let count = 0;
  for (let from = 0; from < names.length; from += SWEEP_PAGE) {
    const page = names.slice(from, from + SWEEP_PAGE);
    const ownedNames = await referenced(page);
    if (!isWanted()) return count;
    const unreferencedNames = page.filter((name) => !ownedNames.has(name));
    await trash.take(unreferencedNames);
    count += unreferencedNames.length;
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
  }
  if (isWanted()) await trash.empty(trashMs);
  return count;
}

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
        await syncFolder(folder, call);
        return { name, bytes: bytes.length, sha256 };
      }),
    async writeFile(file) {
      const { size } = await stat(file);
      return guard.work(() => copyFileIn({ folder, call, freeSpace }, file, size));
    },
    newName: createArtifactName,
    link: (files) => guard.work((isAgain) => linkArtifacts(files, isAgain)),
    settle: () => guard.work(() => syncFolder(folder, call)),
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
    damaged: createDamageCheck({ path: getPath, isIntact, call, isLocal: storeId === undefined }),
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
    await syncFolder(folder, call);
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
