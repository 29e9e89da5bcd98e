import { open, type FileHandle } from 'node:fs/promises';
import { callDirectly, WRITE_MS, type FolderCall } from '../access/folder-calls.js';

/**
 * Writes the directory entries of a folder to disk. A new file survives a power failure only if its folder is written
 * to disk too.
 */
export async function flushFolder(folder: string, call = callDirectly): Promise<void> {
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

/** Number of bytes per write. */
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
