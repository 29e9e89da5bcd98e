import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MANIFEST_NAME } from './backup-manifest.js';

/**
 * Returns the age in seconds of the newest complete backup in a folder. Returns undefined if there is none. A backup is
 * complete if it has a manifest, which is written last.
 */
export async function findBackupAge(folder: string, now: () => number = Date.now): Promise<number | undefined> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith('.'));
  const writtenMs = await Promise.all(
    names.map((name) =>
      stat(join(folder, name, MANIFEST_NAME)).then(
        ({ mtimeMs }) => mtimeMs,
        () => -Infinity,
      ),
    ),
  );
  const newestMs = Math.max(-Infinity, ...writtenMs);
  return newestMs === -Infinity ? undefined : Math.max(0, (now() - newestMs) / 1000);
}
