import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/**
 * Writes a file beside its name, under one of this process, and gives it the name when it is whole: a reader finds the file of before
 * or all of the new one, whoever else writes it, and whatever ends this process.
 * @returns how many bytes
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
    await rm(part, { force: true });
    throw failure;
  }
  return file.bytesWritten;
}
