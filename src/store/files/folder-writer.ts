import { createHash } from 'node:crypto';
import { rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LARGE_BYTES_MIN } from '#base/memory/page-memory.js';
import type { EarlyArtifact } from '../early-artifact.js';
import type { ArtifactContent, ArtifactRef, ArtifactWriter, WriteOptions } from '../port.js';
import { noGuard, type FolderGuard } from '../access/folder-guard.js';
import { callDirectly, WRITE_MS } from '../access/folder-calls.js';
import { openEarly } from './early-file.js';
import { closeBy, flushFolder, openBy, PART_BYTES, writePart } from './flush-folder.js';
import type { FreeSpace } from './free-space.js';
import { writeLarge } from './write-large.js';

/** Suffix of an incomplete file. */
const DRAFT_SUFFIX = '.new';

/** Returns the path of a file while it is incomplete. A start of the service removes such files. */
export const formatDraftPath = (path: string): string => `${path}${DRAFT_SUFFIX}`;

/** Returns the final path of a file or of a draft. */
export const removeDraftSuffix = (path: string): string =>
  path.endsWith(DRAFT_SUFFIX) ? path.slice(0, -DRAFT_SUFFIX.length) : path;

/** Creates a writer of artifacts to a folder. A file gets its final name only when it is complete on disk. */
export function createFolderWriter(folder: string, freeSpace: FreeSpace, guard: FolderGuard = noGuard): ArtifactWriter {
  async function write(
    contents: readonly ArtifactContent[],
    { isSettledLater = false, onWritten }: WriteOptions,
  ): Promise<readonly ArtifactRef[]> {
    await freeSpace.admit(contents.reduce((sum, { bytes }) => sum + bytes.length, 0));
    const outcomes = await Promise.allSettled(
      contents.map((content) => writeFile(folder, content, { guard, onWritten })),
    );
    try {
      const failure = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failure !== undefined) throw failure.reason;
      if (!isSettledLater) await flushFolder(folder, guard.call);
    } catch (thrown) {
      await removeFiles(folder, listNames(contents), guard.call).catch(() => {}); // garbage collection removes the files later
      throw thrown;
    }
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  }

  async function createEarly(name: string): Promise<EarlyArtifact> {
    await freeSpace.admit(LARGE_BYTES_MIN);
    const path = join(folder, name);
    return openEarly({ draft: formatDraftPath(path), path });
  }

  return {
    write: (contents, options = {}) =>
      guard.work(async (isAgain) => {
        if (isAgain) await removeFiles(folder, listNames(contents), guard.call);
        return write(contents, options);
      }),
    ...(guard === noGuard && { early: createEarly }),
  };
}

const listNames = (contents: readonly ArtifactContent[]): string[] => contents.map(({ name }) => name);

interface FileOptions extends Pick<WriteOptions, 'onWritten'> {
  readonly guard: FolderGuard;
}

async function writeFile(
  folder: string,
  { name, bytes }: ArtifactContent,
  { guard, onWritten }: FileOptions,
): Promise<ArtifactRef> {
  const { call } = guard;
  const path = join(folder, name);
  const hash = createHash('sha256');
  let sha256: string;
  const handle = await openBy(call, formatDraftPath(path), 'wx');
  try {
    const backgroundFlush = flushBehind(() => call(() => handle.datasync(), WRITE_MS));
    const { written } = backgroundFlush;
    if (guard === noGuard && bytes.length >= LARGE_BYTES_MIN)
      await writeLarge(call, hash, { path: formatDraftPath(path), handle, bytes, written });
    else
      for (const part of bytes instanceof Uint8Array ? iterateParts(bytes) : bytes.parts()) {
        const pendingWrite = writePart(call, handle, part);
        hash.update(part); // while another thread writes the part
        await pendingWrite;
        await written(part.length);
      }
    await backgroundFlush.end();
    sha256 = hash.digest('hex');
    if (guard === noGuard) await onWritten?.({ file: handle, name, bytes: bytes.length, sha256 });
  } finally {
    await closeBy(call, handle);
  }
  await call(() => rename(formatDraftPath(path), path), WRITE_MS);
  return { name, bytes: bytes.length, sha256 };
}

function* iterateParts(bytes: Uint8Array): Generator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += PART_BYTES) yield bytes.subarray(offset, offset + PART_BYTES);
}

/** Number of bytes after which a file is flushed. More of the file is written meanwhile. */
const FLUSHED_BYTES = 64 * 2 ** 20;

/** Flushes a file while it is written. Runs one flush at a time; each flush reports an error of the previous one. */
function flushBehind(flush: () => Promise<void>) {
  let lastFlush = Promise.resolve();
  let unflushedBytes = 0;
  async function writeNext(): Promise<void> {
    await lastFlush;
    unflushedBytes = 0;
    lastFlush = flush();
    lastFlush.catch(() => {}); // the caller that awaits the flush receives the error
  }
  return {
    written: async (bytes: number): Promise<void> => {
      unflushedBytes += bytes;
      if (unflushedBytes >= FLUSHED_BYTES) await writeNext();
    },
    async end(): Promise<void> {
      await writeNext();
      await lastFlush;
    },
  };
}

/** Removes files of a folder, complete or not. Ignores absent files. */
export async function removeFiles(folder: string, names: readonly string[], call = callDirectly): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      if (!(await call(() => unlinkIfPresent(path)))) await call(() => unlinkIfPresent(formatDraftPath(path)));
    }),
  );
}

/** Deletes a file. @returns true if the file existed */
async function unlinkIfPresent(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return false;
    throw thrown;
  }
}
