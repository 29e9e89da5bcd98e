import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Refusal } from '#domain/refusal.js';
import { hashFile, readBytes, withRunFile } from '#workers/run-file.js';

const folder = mkdtempSync(join(tmpdir(), 'run-file-'));
afterAll(() => rmSync(folder, { recursive: true }));

function refusalOf(work: () => unknown): Refusal {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
  throw new Error('nothing was refused');
}

describe('a file of a stored run', () => {
  test('that is not there is refused as such', () => {
    const missing = join(folder, 'gone');
    for (const work of [() => withRunFile(missing, () => 0), () => readBytes(missing, 0, new Uint8Array(1))]) {
      expect(refusalOf(work)).toMatchObject({
        code: 'DOCUMENT_UNREADABLE',
        message: 'The stored run cannot be read: its file is not there.',
      });
    }
    expect(hashFile(missing)).toBeNull();
  });

  test('that the system does not read is refused with the name it gives to the reason', () => {
    // A folder can be opened and not be read, as a file on a bad sector.
    for (const work of [() => withRunFile(folder, () => 0), () => readBytes(folder, 0, new Uint8Array(1))]) {
      expect(refusalOf(work)).toMatchObject({
        code: 'DOCUMENT_UNREADABLE',
        message: 'The stored run cannot be read: the system reads none of its file (EISDIR).',
      });
    }
    expect(hashFile(folder)).toBeNull();
  });
});
