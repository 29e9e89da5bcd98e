import { chmod, stat } from 'node:fs/promises';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Lets nobody but their owner enter folders and read files, also those that were there before. What is absent, or
 * belongs to another user, as a volume that was mounted may, stays as it is: `divisor doctor` reports it.
 */
export async function closeToOthers({
  folders = [],
  files = [],
}: {
  readonly folders?: readonly string[];
  readonly files?: readonly string[];
}): Promise<void> {
  for (const folder of folders) await setMode(folder, FOLDER_MODE).catch(ignored);
  for (const file of files) await setMode(file, FILE_MODE).catch(ignored);
}

/** Leaves what has the mode as it is: its time of change says whether somebody has written. */
async function setMode(path: string, mode: number): Promise<void> {
  if (((await stat(path)).mode & 0o777) !== mode) await chmod(path, mode);
}

const LEFT_ALONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EPERM', 'EROFS', 'ENOTSUP']);

function ignored(cause: NodeJS.ErrnoException): void {
  if (!LEFT_ALONE.has(cause.code)) throw cause;
}
