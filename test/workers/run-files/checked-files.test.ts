import { createHash } from 'node:crypto';
import { linkSync, openSync, closeSync, readFileSync, statSync, truncateSync, utimesSync, writeSync } from 'node:fs';
import { open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { CHECKED_FILES_BYTES, createCheckedFiles } from '#jobs/job-system.js';
import type { CheckedFiles } from '#jobs/tasks/messages.js';
import type { ArtifactDestination } from '#store/port.js';
import { hasContent, REMEMBERED_BYTES_MIN, rememberWritten } from '#workers/run-files.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const BYTES = new Uint8Array(REMEMBERED_BYTES_MIN).map((_, i) => (i * 31 + (i >> 8)) & 255);
const SHA256 = sha256(BYTES);

let folder: string;
let destination: ArtifactDestination;
let checkedFiles: CheckedFiles;
beforeEach(async () => {
  folder = await createFolder();
  destination = { kind: 'folder', folder, lowWaterMark: { bytes: 0 } };
  checkedFiles = createCheckedFiles(destination)!;
});

/** Writes a file in the same way as the task of a run. */
async function writeRunFile(bytes = BYTES, name = 'a.art'): Promise<string> {
  await openArtifactWriter(destination).write([{ name, bytes }], {
    onWritten: (file) => rememberWritten(checkedFiles, file),
  });
  return join(folder, name);
}

/** Checks that a file has the expected content. Checks also that the file was read for this. */
function expectRead(path: string, hash = SHA256, files: CheckedFiles | null = checkedFiles) {
  let parts = 0;
  const isIntact = hasContent({ path, sha256: hash }, files ?? undefined, () => parts++);
  return { isIntact, isRead: parts > 0 };
}

const UNREAD_FILE = { isIntact: true, isRead: false };
const READ_FILE = { isIntact: true, isRead: true };
const DAMAGED_FILE = { isIntact: false, isRead: true };

/** Changes a bit at an offset without changing the file size. */
function flip(path: string, offset = 1000): void {
  const file = openSync(path, 'r+');
  writeSync(file, new Uint8Array([BYTES[offset]! ^ 1]), 0, 1, offset);
  closeSync(file);
}

describe('a file that was written', () => {
  test('and is unchanged since is not read, under any name', async () => {
    const path = await writeRunFile();
    expect(expectRead(path)).toEqual(UNREAD_FILE);
    linkSync(path, join(folder, 'b.art'));
    expect(expectRead(join(folder, 'b.art'))).toEqual(UNREAD_FILE);
    expect(expectRead(path)).toEqual(UNREAD_FILE);
  });

  test('and changed in place is found, at once and with the same size', async () => {
    const path = await writeRunFile();
    flip(path);
    expect(expectRead(path)).toEqual(DAMAGED_FILE);
    flip(path, 0);
    truncateSync(path, 100);
    expect(expectRead(path)).toEqual(DAMAGED_FILE);
  });

  test('and replaced by another of equal size and time is found', async () => {
    const path = await writeRunFile();
    const otherPath = join(folder, 'other');
    await writeFile(otherPath, BYTES);
    flip(otherPath);
    const { atime, mtime } = statSync(path);
    const { mtimeNs } = statSync(path, { bigint: true });
    utimesSync(otherPath, atime, mtime);
    await rename(otherPath, path);
    expect(statSync(path, { bigint: true }).mtimeNs).toBe(mtimeNs);
    expect(expectRead(path)).toEqual(DAMAGED_FILE);
  });

  test('is not treated as another content', async () => {
    const path = await writeRunFile();
    expect(expectRead(path, sha256(new Uint8Array(1)))).toEqual(DAMAGED_FILE);
  });

  test('and was deleted has no content', () => {
    expect(expectRead(join(folder, 'a.art'))).toEqual({ isIntact: false, isRead: false });
  });

  test('is read if others write too, or if it is below the remembered size', async () => {
    expect(createCheckedFiles({ ...destination, storeId: 's' } as ArtifactDestination)).toBeUndefined();
    expect(createCheckedFiles({ kind: 's3' } as ArtifactDestination)).toBeUndefined();
    const path = await writeRunFile();
    expect([expectRead(path, SHA256, null), expectRead(path, SHA256, null)]).toEqual([READ_FILE, READ_FILE]);
    const shortBytes = BYTES.subarray(1);
    expect(expectRead(await writeRunFile(shortBytes, 'b.art'), sha256(shortBytes))).toEqual(READ_FILE);
  });

  test('and grew before it had its name is not remembered', async () => {
    const path = join(folder, 'a.art');
    await writeFile(path, BYTES);
    truncateSync(path, BYTES.length + 1);
    const file = await open(path, 'r+');
    await rememberWritten(checkedFiles, { file, bytes: BYTES.length, sha256: SHA256 });
    await file.close();
    expect(expectRead(path)).toEqual(DAMAGED_FILE);
  });
});

describe('after a restart', () => {
  test('a file is read once', async () => {
    const path = await writeRunFile();
    checkedFiles = createCheckedFiles(destination)!;
    expect([expectRead(path), expectRead(path), expectRead(path)]).toEqual([READ_FILE, UNREAD_FILE, UNREAD_FILE]);
    flip(path);
    expect(expectRead(path)).toEqual(DAMAGED_FILE);
    await writeFile(path, BYTES);
    expect(expectRead(path)).toEqual(READ_FILE);
  });

  test('a file that is not remembered is read each time, and is requested once it has its content', async () => {
    const path = await writeRunFile();
    checkedFiles = createCheckedFiles(destination)!;
    let count = 0;
    const isContentIntact = (): boolean =>
      hasContent(
        { path, sha256: SHA256 },
        checkedFiles,
        () => {},
        () => ++count > 1,
      );
    expect([isContentIntact(), count, isContentIntact(), count]).toEqual([true, 1, true, 2]);
    expect([isContentIntact(), count]).toEqual([true, 2]);
    flip(path);
    expect([isContentIntact(), count]).toEqual([false, 2]);
  });

  test('a recently touched file is read until a later touch is distinguishable', async () => {
    const path = join(folder, 'a.art');
    await writeFile(path, BYTES);
    utimesSync(path, new Date(), new Date(Date.now() + 60_000)); // as after a backward step of the clock
    expect([expectRead(path), expectRead(path)]).toEqual([READ_FILE, READ_FILE]);
    const longAgo = new Date(0);
    utimesSync(path, longAgo, longAgo);
    expect([expectRead(path), expectRead(path)]).toEqual([READ_FILE, UNREAD_FILE]);
  });
});

test('the number of remembered files is limited, and the last one is always remembered', async () => {
  const bytes = 32;
  checkedFiles = new BigUint64Array(new SharedArrayBuffer(bytes * 2 * BigUint64Array.BYTES_PER_ELEMENT));
  const zeros = new Uint8Array(REMEMBERED_BYTES_MIN);
  const hash = sha256(zeros);
  const paths: string[] = [];
  for (let i = 0; i < 3 * bytes; i++) {
    paths.push(await writeRunFile(zeros, `${i}.art`));
    expect(expectRead(paths.at(-1)!, hash)).toEqual(UNREAD_FILE);
  }
  const unreadPaths = paths.filter((path) => {
    const copy = new BigUint64Array(new SharedArrayBuffer(checkedFiles.byteLength)); // the content after the next read
    copy.set(checkedFiles);
    return !expectRead(path, hash, copy).isRead;
  });
  expect(unreadPaths.length).toBeGreaterThan(bytes / 2);
  expect(unreadPaths.length).toBeLessThanOrEqual(bytes);
  expect(createCheckedFiles(destination)!.byteLength).toBe(CHECKED_FILES_BYTES);
});

test('the time of a remembered file precedes its write, and its bytes are those that were written', async () => {
  const before = Date.now();
  const path = await writeRunFile();
  expect(statSync(path).mtimeMs).toBeLessThan(before);
  expect(Buffer.compare(readFileSync(path), BYTES)).toBe(0);
});
