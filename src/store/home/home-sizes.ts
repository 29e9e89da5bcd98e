import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { HomeFolders } from './home.js';

/** Bytes of the files of each part of a home. */
export type HomeSizes = Readonly<Record<'documents' | 'artifacts' | 'stores' | 'backups', number>>;

/** A walk over 60,000 files takes a second of threads, so a reading serves for so long. */
const READING_AGE_MAX_MS = 30_000;

/** Reports how large a home is. @returns a question whose answer is at most half a minute old */
export function watchHomeSizes(
  home: HomeFolders,
  monotonicMs: () => number = () => performance.now(),
): () => Promise<HomeSizes> {
  let reading: { readonly atMs: number; readonly sizes: Promise<HomeSizes> } | undefined;
  return () => {
    if (reading === undefined || monotonicMs() - reading.atMs > READING_AGE_MAX_MS)
      reading = { atMs: monotonicMs(), sizes: measure(home) };
    return reading.sizes;
  };
}

async function measure({ documents, artifacts, stores, backups }: HomeFolders): Promise<HomeSizes> {
  return {
    documents: await folderBytes(documents),
    artifacts: await folderBytes(artifacts),
    stores: await folderBytes(stores),
    backups: await folderBytes(backups),
  };
}

/** Files that appear or vanish meanwhile are not counted. */
async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    if (entry.isFile())
      bytes += await stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return bytes;
}
