import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refusal } from '#domain/refusals/refusal.js';

/** File that exists as long as it is held. */
export interface HeldFile {
  readonly path: string;
  release(): void;
}

/** Files with tables that queries read, cached for the next query while there is space. */
export interface InputFiles {
  /**
   * @param key identifies the content
   * @param write creates the file, which does not exist yet
   * @throws Refusal QUERY_LIMIT if the held files exceed the space; as `write`
   */
  hold(key: string, write: (path: string) => Promise<void>): Promise<HeldFile>;
  /** Removes all of them. */
  close(): Promise<void>;
}

interface KeptFile {
  readonly path: string;
  readonly written: Promise<number>;
  bytes: number;
  holders: number;
}

/** @param bytesMax maximum size of all files together */
export function createInputFiles(bytesMax: number): InputFiles {
  /** The one used longest ago first. */
  const kept = new Map<string, KeptFile>();
  let folder: Promise<string> | undefined;
  let written = 0;

  async function remove(key: string, file: KeptFile): Promise<void> {
    if (kept.get(key) === file) kept.delete(key);
    await rm(file.path, { force: true });
  }

  /** Removes files that are not held until the rest fits. */
  async function makeRoom(): Promise<void> {
    let total = [...kept.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [key, file] of kept) {
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
      const path = join(await folder, `${(written += 1)}.parquet`);
      const entry = kept.get(key);
      const file: KeptFile = entry ?? {
        path,
        written: write(path).then(async () => (await stat(path)).size),
        bytes: 0,
        holders: 0,
      };
      kept.delete(key);
      kept.set(key, file);
      file.holders++;
      const release = (): void => void file.holders--;
      try {
        file.bytes = await file.written;
        await makeRoom();
        return { path: file.path, release };
      } catch (failure) {
        release();
        await remove(key, file);
        throw failure;
      }
    },
    async close() {
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
    },
  };
}
