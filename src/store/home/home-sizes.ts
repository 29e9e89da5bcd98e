import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Total size of the files of each folder, in bytes. */
export type Sizes<P extends string> = Readonly<Record<P, number>>;

/** Maximum age of a reading. Reading the sizes of 60,000 files takes a second of thread time. */
const READING_AGE_MAX_MS = 30_000;

/** Watches the sizes of the folders of a home. @returns a function whose result is at most half a minute old */
export function watchSizes<P extends string>(
  folders: Readonly<Record<P, string>>,
  monotonicMs: () => number = () => performance.now(),
): () => Promise<Sizes<P>> {
  let lastReading: { readonly atMs: number; readonly sizes: Promise<Sizes<P>> } | undefined;
  return () => {
    if (lastReading === undefined || monotonicMs() - lastReading.atMs > READING_AGE_MAX_MS)
      lastReading = { atMs: monotonicMs(), sizes: measure(folders) };
    return lastReading.sizes;
  };
}

async function measure<P extends string>(folders: Readonly<Record<P, string>>): Promise<Sizes<P>> {
  const sizes: [string, number][] = [];
  for (const [part, folder] of Object.entries<string>(folders)) sizes.push([part, await measureFolder(folder)]);
  return Object.fromEntries(sizes) as Sizes<P>; // one entry per folder
}

/** Adds up the sizes of the files of a folder. Ignores files that appear or disappear meanwhile. */
async function measureFolder(folder: string): Promise<number> {
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
