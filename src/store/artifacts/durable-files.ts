import { Buffer } from 'node:buffer';
import { createHash, webcrypto } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readFile, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { Refusal } from '#domain/base/refusals.js';
import { findCode, isUnavailable } from './artifact.js';

/**
 * Function that makes one call to the file system with a time limit.
 * @param onLate receives the result of an abandoned call
 * @throws Refusal STORE_UNAVAILABLE if the folder does not answer in time, and at once while an earlier call is stalled
 */
export type FolderCall = <T>(work: () => Promise<T>, limitMs?: number, onLate?: (late: T) => void) => Promise<T>;

/** Makes calls to a local folder, without a time limit. */
export const callDirectly: FolderCall = (work) => work();

/**
 * Time limit for opening and reading a file. It is longer than a healthy mount needs, and shorter than the wait of a
 * request.
 */
const READ_MS = 4000;
/** Time limit for writing and flushing. It is enough for a slow server and a large result. */
export const WRITE_MS = 30_000;
/**
 * Maximum number of concurrent calls. Calls to a mount never return if its server is unavailable, and each occupies one
 * of the four threads that the process has for files, host names and hashes. A computing thread makes one call at a
 * time.
 */
const CALL_CONCURRENCY = isMainThread ? 2 : 1;

/** Calls of this thread by folder. All users of a folder share the information that it does not answer. */
const callsByFolder = new Map<string, FolderCall>();

export function createFolderCalls(folder: string): FolderCall {
  const folderCall = callsByFolder.get(folder) ?? createBoundedCalls(folder);
  callsByFolder.set(folder, folderCall);
  return folderCall;
}

interface PendingCall {
  readonly go: () => void;
  readonly refuse: (reason: Refusal) => void;
}

export function createBoundedCalls(folder: string, { atOnce = CALL_CONCURRENCY, readMs = READ_MS } = {}): FolderCall {
  const queue: PendingCall[] = [];
  let runningCalls = 0;
  /** Number of abandoned calls that have not returned. */
  let stalledCalls = 0;

  const createStallRefusal = (): Refusal =>
    new Refusal('STORE_UNAVAILABLE', 'The folder of the results is unavailable: it does not answer.', null, {
      cause: new Error(`folder ${folder}`),
    });

  function endCall(): void {
    const next = queue.shift();
    if (next === undefined) runningCalls--;
    else next.go();
  }

  return async (work, limitMs = readMs, onLate = () => {}) => {
    if (stalledCalls > 0) throw createStallRefusal();
    if (runningCalls < atOnce) runningCalls++;
    else await new Promise<void>((go, refuse) => queue.push({ go, refuse }));
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        stalledCalls++;
        reject(createStallRefusal());
        for (const { refuse } of queue.splice(0)) refuse(createStallRefusal());
      }, limitMs);
      const end = (): void => {
        clearTimeout(timer);
        if (isLate) stalledCalls--;
        endCall();
      };
      work().then(
        (result) => {
          end();
          if (isLate) onLate(result);
          else resolve(result);
        },
        (thrown: unknown) => {
          end();
          reject(thrown); // ignored after the time limit
        },
      );
    });
  };
}

/**
 * Name of the marker file. It is the only file in an artifact store that is not an artifact. It records the id of the
 * store and the database that owns the store.
 */
export const MARKER = 'divisor-store.json';

export interface DatabaseIdentity {
  /**
   * System identifier of the database server. Physical copies of the server have the same one. It is null if the role
   * may not read it.
   */
  readonly system: string | null;
  readonly database: string;
}

export interface StoreOwner extends DatabaseIdentity {
  /**
   * Random token that is renewed in the artifact store and in the database. A copy of the database then has an outdated
   * token.
   */
  readonly token: string;
}

export interface StoreMark {
  readonly storeId: string;
  /** Absent in artifact stores of version 0.2.0. */
  readonly owner?: StoreOwner | undefined;
}

export const formatMarker = ({ storeId, owner }: StoreMark): string =>
  JSON.stringify({ format: 1, store_id: storeId, ...(owner && { owner }) });

/** Returns the id in the text of a marker file. Returns `unreadable` if the text has none. */
const parseStoreId = (text: string): string => /"store_id":"([\w-]{1,64})"/.exec(text)?.[1] ?? 'unreadable';

export function parseMark(text: string): StoreMark {
  return { storeId: parseStoreId(text), owner: findOwner(text) };
}

function findOwner(text: string): StoreOwner | undefined {
  let marker: { readonly owner?: Partial<StoreOwner> };
  try {
    marker = JSON.parse(text) as typeof marker; // each member is checked below
  } catch {
    return undefined;
  }
  const { system, database, token } = marker.owner ?? {};
  if (typeof token !== 'string' || typeof database !== 'string') return undefined;
  return { system: typeof system === 'string' ? system : null, database, token };
}

/**
 * Access to a folder that machines share. It may become unavailable, for example if its server moves or its mount is
 * lost.
 */
export interface FolderGuard {
  /**
   * Runs work in the folder, and repeats it while the folder is unavailable. The folder is checked before and after the
   * work, so that an empty mount point never receives a result.
   * @param work receives true in a repetition, before which it may have been started
   * @throws Refusal STORE_UNAVAILABLE if the folder has been unavailable for too long
   */
  work<T>(work: (isAgain: boolean) => Promise<T>): Promise<T>;
  /** Makes each call to the folder, with a time limit. */
  readonly call: FolderCall;
}

/** Access to a local folder, which is always available. */
export const noGuard: FolderGuard = { work: (work) => work(false), call: callDirectly };

/** Maximum wait for an unavailable folder, equal to that for an object store. */
const PATIENCE_MS = 45_000;
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 2000;

/** Creates the access to a shared folder. @param storeId required id in its marker */
export function guardFolder(
  folder: string,
  storeId: string,
  { patienceMs = PATIENCE_MS, call = createFolderCalls(folder) } = {},
): FolderGuard {
  async function assertFolderExists(): Promise<void> {
    const markedId = parseStoreId(await call(() => readFile(join(folder, MARKER), 'utf8')));
    if (markedId !== storeId) throw createUnavailableRefusal(folder, `it is the store ${markedId}, not ${storeId}`);
  }

  return {
    call,
    async work(work) {
      const deadline = performance.now() + patienceMs;
      for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, PAUSE_MS_MAX)) {
        try {
          await assertFolderExists();
          const result = await work(pause > PAUSE_MS);
          await assertFolderExists();
          return result;
        } catch (thrown) {
          if (!isUnavailable(thrown)) throw thrown;
          if (performance.now() > deadline)
            throw thrown instanceof Refusal
              ? thrown
              : createUnavailableRefusal(folder, findCode(thrown) ?? 'unknown', thrown);
        }
        await sleep(pause);
      }
    },
  };
}

const createUnavailableRefusal = (folder: string, reason: string, cause?: unknown): Refusal =>
  new Refusal('STORE_UNAVAILABLE', `The folder of the results is unavailable: ${reason}.`, null, {
    cause: new Error(`folder ${folder}`, { cause }),
  });

/**
 * Writes the directory entries of a folder to disk. A new file survives a power failure only if its folder is written
 * to disk too.
 */
export async function syncFolder(folder: string, call = callDirectly): Promise<void> {
  const handle = await openBy(call, folder, 'r');
  try {
    await call(() => handle.sync(), WRITE_MS);
  } finally {
    await closeBy(call, handle);
  }
}

/** Writes a new file. The file is on disk when the promise resolves. */
export async function writeFlushed(file: string, bytes: Uint8Array, call = callDirectly): Promise<void> {
  const handle = await openBy(call, file, 'wx');
  try {
    for (let offset = 0; offset < bytes.length; offset += PART_BYTES)
      await writePart(call, handle, bytes.subarray(offset, offset + PART_BYTES));
    await call(() => handle.datasync(), WRITE_MS);
  } finally {
    await closeBy(call, handle);
  }
}

export const PART_BYTES = 1 << 20;

/**
 * Writes all bytes of a part. It may need several calls, because one call may write only some of the bytes. @param to
 * offset in the file. Default: after the last write
 */
export async function writePart(call: FolderCall, handle: FileHandle, part: Uint8Array, to?: number): Promise<void> {
  for (let offset = 0; offset < part.length;) {
    const position = to === undefined ? null : to + offset;
    offset += (await call(() => handle.write(part, offset, part.length - offset, position), WRITE_MS)).bytesWritten;
  }
}

/**
 * Opens a file with private permissions. If the call exceeds its time limit, the file is closed again when it opens
 * later.
 */
export const openBy = (call: FolderCall, path: string, flags: string | number): Promise<FileHandle> =>
  call(
    () => open(path, flags, 0o600),
    undefined,
    (late) => void late.close().catch(() => {}),
  );

/** Closes a file. If its folder does not answer, closes the file as soon as it does. */
export async function closeBy(call: FolderCall, handle: FileHandle): Promise<void> {
  let isBegun = false;
  try {
    await call(() => {
      isBegun = true;
      return handle.close();
    }, WRITE_MS);
  } catch (thrown) {
    if (!isBegun) handle.close().catch(() => {});
    throw thrown;
  }
}

export interface FileDigest {
  readonly bytes: number;
  /** SHA-256 of the content, hex. */
  readonly sha256: string;
}

const CHUNK_BYTES = 1 << 20;
/** Size above which files are hashed in chunks. Files of data stores are larger; results are smaller. */
const WHOLE_BYTES_MAX = 64 << 20;

/** Returns the size and hash of a file. @cost one read of the file */
export async function digestFile(path: string): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Returns the SHA-256 of a file, hex; a small file is hashed outside the event loop. @cost one read of the file */
export async function computeFileSha256(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > WHOLE_BYTES_MAX) return (await digestFile(path)).sha256;
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', await readFile(path))).toString('hex');
}

/**
 * Copies a file to a new file. The copy is on disk when the promise resolves.
 * @returns size and hash of the copied bytes
 * @param call makes each call to the new file
 * @cost one read and one write of the file
 */
export async function copyFlushed(from: string, to: string, call = callDirectly): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  const target = await openBy(call, to, 'wx');
  try {
    for await (const chunk of createReadStream(from, { highWaterMark: CHUNK_BYTES })) {
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      await writePart(call, target, chunk as Buffer);
    }
    await call(() => target.datasync(), WRITE_MS);
  } finally {
    await closeBy(call, target);
  }
  return { bytes, sha256: hash.digest('hex') };
}

/**
 * Creates a folder and its missing parents, one by one. The recursive call of Node 20 does not return if a file system
 * reports an existing parent as absent, which `/proc` does.
 * @param mode of every new folder. Default: 0o777 less the umask
 * @returns true if the folder was created, false if it existed
 * @throws Error of the system
 * @cost one call for an existing folder and one for each new folder
 */
export async function makeFolder(folder: string, mode?: number): Promise<boolean> {
  const path = resolve(folder);
  const parentFolder = dirname(path);
  try {
    return await createFolder(path, mode);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || parentFolder === path) throw cause;
  }
  await makeFolder(parentFolder, mode);
  return createFolder(path, mode);
}

/** Creates one folder. Another process may create it at the same time. */
async function createFolder(path: string, mode: number | undefined): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (cause) {
    const result = await stat(path).catch(() => undefined);
    if (result?.isDirectory() !== true) throw cause;
    return false;
  }
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Restricts folders and files to their owner. Also restricts existing ones. Absent paths, and paths of other users such
 * as a mounted volume, stay unchanged; `divisor doctor` reports them.
 */
export async function restrictToOwner({
  folders = [],
  files = [],
}: {
  readonly folders?: readonly string[];
  readonly files?: readonly string[];
}): Promise<void> {
  for (const folder of folders) await setMode(folder, FOLDER_MODE).catch(ignoreExpected);
  for (const file of files) await setMode(file, FILE_MODE).catch(ignoreExpected);
}

/**
 * Sets the mode unless it is already set. A change of the mode would also update the change time, which shows writes.
 */
async function setMode(path: string, mode: number): Promise<void> {
  if (((await stat(path)).mode & 0o777) !== mode) await chmod(path, mode);
}

const IGNORED_CODES: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EPERM', 'EROFS', 'ENOTSUP']);

function ignoreExpected(cause: NodeJS.ErrnoException): void {
  if (!IGNORED_CODES.has(cause.code)) throw cause;
}

const DRAFT_SUFFIX = '.new';

/** Returns the path of a file while it is incomplete. A start of the service removes such files. */
export const formatDraftPath = (path: string): string => `${path}${DRAFT_SUFFIX}`;

export const removeDraftSuffix = (path: string): string =>
  path.endsWith(DRAFT_SUFFIX) ? path.slice(0, -DRAFT_SUFFIX.length) : path;

/** Removes files of a folder, complete or not. Ignores absent files. */
export async function removeFiles(folder: string, names: readonly string[], call = callDirectly): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      if (!(await call(() => unlinkIfPresent(path)))) await call(() => unlinkIfPresent(formatDraftPath(path)));
    }),
  );
}

/** Deletes a file. @returns true if the file existed */
async function unlinkIfPresent(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return false;
    throw thrown;
  }
}
