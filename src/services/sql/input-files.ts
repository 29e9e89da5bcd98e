import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refusal } from '#domain/refusals/refusal.js';

/** File that exists until it is released. */
export interface LeasedFile {
  readonly path: string;
  release(): void;
}

/** Files with the tables that queries read. A file stays cached for later queries while there is space. */
export interface InputFiles {
  /**
   * Returns the file of a key. @param key identifies the content
   * @param write creates the file, which does not exist yet
   * @throws Refusal QUERY_LIMIT if the files in use exceed the space, and the refusals of `write`
   */
  hold(key: string, write: (path: string) => Promise<void>): Promise<LeasedFile>;
  /** Removes all files. */
  close(): Promise<void>;
}

interface CachedFile {
  readonly path: string;
  readonly written: Promise<number>;
  bytes: number;
  holders: number;
}

/** @param bytesMax maximum total size of all files */
export function createInputFiles(bytesMax: number): InputFiles {
  /** Files by key, least recently used first. */
  const cachedFiles = new Map<string, CachedFile>();
  let folder: Promise<string> | undefined;
  let writtenBytes = 0;

  async function remove(key: string, file: CachedFile): Promise<void> {
    if (cachedFiles.get(key) === file) cachedFiles.delete(key);
    await rm(file.path, { force: true });
  }

  /** Removes files that no query uses until the remaining files fit into the space. */
  async function removeOldFiles(): Promise<void> {
    let total = [...cachedFiles.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [key, file] of cachedFiles) {
      if (total <= bytesMax) return;
      if (file.holders > 0) continue;
      total -= file.bytes;
      await remove(key, file);
    }
    if (total > bytesMax)
      throw new Refusal('QUERY_LIMIT', `The tables that queries read are larger than ${bytesMax} bytes together.`, {
        limit: bytesMax,
      });
  }

  return {
    async hold(key, write) {
      folder ??= mkdtemp(join(tmpdir(), `divisor-${process.pid}-`));
      const path = join(await folder, `${(writtenBytes += 1)}.parquet`);
      const entry = cachedFiles.get(key);
      const file: CachedFile = entry ?? {
        path,
        written: write(path).then(async () => (await stat(path)).size),
        bytes: 0,
        holders: 0,
      };
      cachedFiles.delete(key);
      cachedFiles.set(key, file);
      file.holders++;
      const releaseFile = (): void => void file.holders--;
      try {
        file.bytes = await file.written;
        await removeOldFiles();
        return { path: file.path, release: releaseFile };
      } catch (failure) {
        releaseFile();
        await remove(key, file);
        throw failure;
      }
    },
    async close() {
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
    },
  };
}
