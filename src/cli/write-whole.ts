import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { UsageError } from './usage-error.js';

/**
 * Writes a file as a whole: first under a temporary name of this process, then renamed. A reader always sees the
 * previous file or the complete new file, even if several processes write or one crashes.
 * @returns number of bytes
 * @throws UsageError if the folder is absent or cannot be written
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
    await rm(part, { force: true }).catch(() => {}); // the failure of the write is reported, not that of the cleanup
    throw explainUnwritable(path, failure) ?? failure;
  }
  return file.bytesWritten;
}

/** Reasons why a new file cannot be created in a folder, by system error code. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a folder',
  EACCES: 'cannot be written by this user',
  EROFS: 'is on a read-only disk',
};

function explainUnwritable(path: string, failure: unknown): UsageError | undefined {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  const reason = REASONS[code];
  return reason === undefined ? undefined : new UsageError(`${path} cannot be written: ${dirname(path)} ${reason}`);
}
