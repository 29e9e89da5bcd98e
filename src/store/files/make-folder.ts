import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Creates a folder and its missing parents, one by one. The recursive call of Node 20 does not return if a file system
 * reports an existing parent as absent, which `/proc` does.
 * @param mode of every new folder. Default: 0o777 less the umask
 * @returns true if the folder was created, false if it existed
 * @throws Error of the system
 * @cost one call for an existing folder and one for each new folder
 */
export async function makeFolder(folder: string, mode?: number): Promise<boolean> {
  const path = resolve(folder);
  const parentFolder = dirname(path);
  try {
    return await createFolder(path, mode);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || parentFolder === path) throw cause;
  }
  await makeFolder(parentFolder, mode);
  return createFolder(path, mode);
}

/** Creates one folder. Another process may create it at the same time. */
async function createFolder(path: string, mode: number | undefined): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (cause) {
    const result = await stat(path).catch(() => undefined);
    if (result?.isDirectory() !== true) throw cause;
    return false;
  }
}
