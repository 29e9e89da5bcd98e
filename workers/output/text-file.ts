import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { Refusal } from '#domain/refusals/refusal.js';
import { isFull } from '#market/panels/shared-market.js';
import type { WrittenFile } from '#jobs/tasks/files.js';
import type { JsonSink } from '#views/json-writer.js';

/** Number of bytes read back at a time when a range is rewritten. */
const PART_BYTES = 1 << 18;

/**
 * Writes a new file through a sink. Removes it if it could not be completed.
 * @throws Refusal STORAGE_FULL
 */
export function writeTextFile(path: string, write: (sink: JsonSink) => void): WrittenFile {
  const file = openSync(path, 'wx+', 0o600);
  const hash = createHash('sha256');
  let length = 0;

  function append(part: Uint8Array): void {
    hash.update(part);
    for (let writtenBytes = 0; writtenBytes < part.length;)
      writtenBytes += writeSync(file, part, writtenBytes, part.length - writtenBytes, length + writtenBytes);
    length += part.length;
  }

  let isWhole = false;
  try {
    write({
      get length() {
        return length;
      },
      append,
      repeat(from, to) {
        const chunk = new Uint8Array(Math.min(PART_BYTES, to - from));
        for (let position = from; position < to;) {
          const count = readSync(file, chunk, 0, Math.min(chunk.length, to - position), position);
          if (count === 0) throw new Error(`${to - position} bytes of ${path} cannot be read again`);
          append(chunk.subarray(0, count));
          position += count;
        }
      },
    });
    isWhole = true;
  } catch (thrown) {
    throw isFull(thrown)
      ? new Refusal('STORAGE_FULL', `The service's volume accepted only ${length} bytes of a file.`, null, {
          cause: thrown,
        })
      : thrown;
  } finally {
    closeSync(file);
    if (!isWhole) unlinkSync(path);
  }
  return { bytes: length, sha256: hash.digest('hex') };
}
