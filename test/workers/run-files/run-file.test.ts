import { createHash } from 'node:crypto';
import fs, { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { LARGE_BYTES_MIN } from '#base/memory.js';
import { hashFile, hashOnce, isContentOf, useRunFile } from '#workers/run-files.js';

const folder = mkdtempSync(join(tmpdir(), 'run-file-'));
afterAll(() => rmSync(folder, { recursive: true }));

function catchRefusal(work: () => unknown): Refusal {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
  throw new Error('nothing was refused');
}

describe('a file of a stored run', () => {
  test('that is missing is refused as missing', () => {
    const missingPath = join(folder, 'gone');
    expect(catchRefusal(() => useRunFile(missingPath, () => 0))).toMatchObject({
      code: 'DOCUMENT_UNREADABLE',
      message: 'The stored run cannot be read: its file is missing.',
    });
    expect(hashFile(missingPath)).toBeNull();
  });

  test('that the system does not read is refused with the reason of the system', () => {
    // A folder can be opened but not read. This simulates a file on a bad sector.
    expect(catchRefusal(() => useRunFile(folder, () => 0))).toMatchObject({
      code: 'DOCUMENT_UNREADABLE',
      message: 'The stored run cannot be read: its file cannot be read (EISDIR).',
    });
    expect(hashFile(folder)).toBeNull();
  });
});

describe('the hash of a file that is read around the cache', () => {
  const path = join(folder, 'large');
  const createBytes = (size: number): Uint8Array =>
    Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 255);
  const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

  test('is that of its bytes, around sectors and blocks, below the size as above it', () => {
    for (const extraBytes of [-1, 0, 1, 4095, 4096, 2 ** 21 - 1, 2 ** 21, 2 ** 21 + 4097]) {
      const bytes = createBytes(LARGE_BYTES_MIN + extraBytes);
      writeFileSync(path, bytes); // The file is read from the page cache, which may be ahead of the disk.
      let looks = 0;
      expect(hashOnce(path, bytes.length, () => looks++)).toBe(sha256(bytes));
      expect(looks).toBe(extraBytes < 0 ? 32 : 1 + Math.floor(bytes.length / 2 ** 21));
    }
  });

  test('is that of all existing bytes if the file is longer or shorter than recorded', () => {
    const bytes = createBytes(LARGE_BYTES_MIN + 5);
    writeFileSync(path, bytes);
    for (const size of [LARGE_BYTES_MIN, LARGE_BYTES_MIN + 2 ** 21])
      expect(hashOnce(path, size, () => {})).toBe(sha256(bytes));
    truncateSync(path, 10);
    expect(hashOnce(path, bytes.length, () => {})).toBe(sha256(bytes.subarray(0, 10)));
    expect(hashOnce(join(folder, 'gone'), bytes.length, () => {})).toBeNull();
  });

  test.runIf(process.platform === 'linux')('is computed through the cache if such a read is refused', () => {
    const bytes = createBytes(LARGE_BYTES_MIN + 5);
    writeFileSync(path, bytes);
    const { openSync, readSync } = fs;
    const directSizes = new Set<number>();
    let count = 0;
    fs.openSync = ((...words: Parameters<typeof openSync>) => {
      const file = openSync(...words);
      if (typeof words[1] === 'number' && (words[1] & fs.constants.O_DIRECT) !== 0) directSizes.add(file);
      return file;
    }) as typeof openSync;
    fs.readSync = ((...words: Parameters<typeof readSync>) => {
      if (!directSizes.delete(words[0])) return readSync(...words);
      count++;
      throw Object.assign(new Error('EINVAL'), { code: 'EINVAL' });
    }) as typeof readSync;
    syncBuiltinESMExports();
    try {
      expect(hashOnce(path, bytes.length, () => {})).toBe(sha256(bytes));
    } finally {
      Object.assign(fs, { openSync, readSync });
      syncBuiltinESMExports();
    }
    expect(count).toBe(1);
  });
});

describe('a stored file is compared with bytes', () => {
  const path = join(folder, 'compared');
  const bytes = Uint8Array.from({ length: 3 * 2 ** 20 + 5 }, (_, i) => (i * 7) >> 3);

  test('and matches only if all bytes are equal, at both ends and between', () => {
    writeFileSync(path, bytes);
    expect(isContentOf(path, bytes)).toBe(true);
    const begin = 2 ** 20 + 3;
    expect(isContentOf(path, bytes, begin)).toBe(true);
    for (const offset of [0, 2 ** 17 - 1, 2 ** 17, begin - 1, begin, bytes.length - 1]) {
      const otherBytes = bytes.slice();
      otherBytes[offset]! ^= 1;
      expect(isContentOf(path, otherBytes), `byte ${offset}`).toBe(false);
      expect(isContentOf(path, otherBytes, begin), `byte ${offset} from ${begin}`).toBe(false);
    }
  });

  test('and does not match if it is longer, shorter or absent', () => {
    writeFileSync(path, bytes);
    expect(isContentOf(path, bytes.subarray(0, -1))).toBe(false);
    truncateSync(path, bytes.length - 1);
    expect(isContentOf(path, bytes)).toBe(false);
    expect(isContentOf(join(folder, 'gone'), bytes)).toBe(false);
  });

  test('in a single part if it is small', () => {
    writeFileSync(path, bytes.subarray(0, 10));
    expect(isContentOf(path, bytes.slice(0, 10))).toBe(true);
    expect(isContentOf(path, new Uint8Array(10))).toBe(false);
  });
});
