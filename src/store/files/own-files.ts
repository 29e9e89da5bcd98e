import { chmod, stat } from 'node:fs/promises';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Restricts folders and files to their owner. Also restricts existing ones. Absent paths, and paths of other users such
 * as a mounted volume, stay unchanged; `divisor doctor` reports them.
 */
export async function restrictToOwner({
  folders = [],
  files = [],
}: {
  readonly folders?: readonly string[];
  readonly files?: readonly string[];
}): Promise<void> {
  for (const folder of folders) await setMode(folder, FOLDER_MODE).catch(ignoreExpected);
  for (const file of files) await setMode(file, FILE_MODE).catch(ignoreExpected);
}

/**
 * Sets the mode unless it is already set. A change of the mode would also update the change time, which shows writes.
 */
async function setMode(path: string, mode: number): Promise<void> {
  if (((await stat(path)).mode & 0o777) !== mode) await chmod(path, mode);
}

const IGNORED_CODES: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EPERM', 'EROFS', 'ENOTSUP']);

function ignoreExpected(cause: NodeJS.ErrnoException): void {
  if (!IGNORED_CODES.has(cause.code)) throw cause;
}
