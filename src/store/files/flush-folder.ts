import { open, type FileHandle } from 'node:fs/promises';
import { ownCall, WRITE_MS, type FolderCall } from '../access/folder-calls.js';

/** Puts the names in a folder on disk: a new file survives a power failure only once its folder is flushed too. */
export async function flushFolder(folder: string, call = ownCall): Promise<void> {
  const handle = await openBy(call, folder, 'r');
  try {
    await call(() => handle.sync(), WRITE_MS);
  } finally {
    await closeBy(call, handle);
  }
}

/** A new file, on disk when it resolves. */
export async function writeFlushed(file: string, bytes: Uint8Array, call = ownCall): Promise<void> {
  const handle = await openBy(call, file, 'wx');
  try {
    for (let at = 0; at < bytes.length; at += PART_BYTES)
      await writePart(call, handle, bytes.subarray(at, at + PART_BYTES));
    await call(() => handle.datasync(), WRITE_MS);
  } finally {
    await closeBy(call, handle);
  }
}

/** Bytes written at a time. */
export const PART_BYTES = 1 << 20;

/** A disk that takes a part of the bytes is given the rest. @param to where they go in the file, else on from the last */
export async function writePart(call: FolderCall, handle: FileHandle, part: Uint8Array, to?: number): Promise<void> {
  for (let at = 0; at < part.length;) {
    const position = to === undefined ? null : to + at;
    at += (await call(() => handle.write(part, at, part.length - at, position), WRITE_MS)).bytesWritten;
  }
}

/** A file of the service alone; one that opens too late is closed again. */
export const openBy = (call: FolderCall, path: string, flags: string | number): Promise<FileHandle> =>
  call(
    () => open(path, flags, 0o600),
    undefined,
    (late) => void late.close().catch(() => {}),
  );

/** Closes a file; one whose folder does not answer is closed once it does. */
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
