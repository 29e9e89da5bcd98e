import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { UsageError } from './usage-error.js';

/**
 * Writes a file beside its name, under one of this process, and gives it the name when it is whole: a reader finds the file of before
 * or all of the new one, whoever else writes it, and whatever ends this process.
 * @returns how many bytes
 * @throws UsageError where the folder is absent or cannot be written
 */
export async function writeWhole(
  path: string,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<number> {
  const part = `${path}.${process.pid}.part`;
  const file = createWriteStream(part);
  try {
    await pipeline(Readable.from(bytes), file);
    await rename(part, path);
  } catch (failure) {
    await rm(part, { force: true }).catch(() => {}); // The first failure says why.
    throw unwritable(path, failure) ?? failure;
  }
  return file.bytesWritten;
}

/** Why a folder takes no file, by the code of the system. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  ENOTDIR: 'is no folder',
  EACCES: 'cannot be written by this user',
  EROFS: 'is on a disk that is read only',
};

function unwritable(path: string, failure: unknown): UsageError | undefined {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  const reason = REASONS[code];
  return reason === undefined ? undefined : new UsageError(`${path} cannot be written: ${dirname(path)} ${reason}`);
}
