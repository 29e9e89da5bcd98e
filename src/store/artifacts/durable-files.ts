import { Buffer } from 'node:buffer';
import { createHash, webcrypto } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { callDirectly, type FolderCall, WRITE_MS } from './folder-calls.js';

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
