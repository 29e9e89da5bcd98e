import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it that are missing, one by one. The recursive call of Node 20 does not return where a
 * file system answers that the parent is absent although it is there, as `/proc` does.
 * @param mode  of every folder that is made, 0o777 less the mask of the process unless given
 * @returns whether the folder was made: false where it was there
 * @throws Error of the system that refuses
 * @cost one call for a folder that is there and one for each that is made
 */
export async function makeFolder(folder: string, mode?: number): Promise<boolean> {
  const path = resolve(folder);
  const above = dirname(path);
  try {
    return await made(path, mode);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw cause;
  }
  await makeFolder(above, mode);
  return made(path, mode);
}

/** Another process may make it at the same time. */
async function made(path: string, mode: number | undefined): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (cause) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() !== true) throw cause;
    return false;
  }
}
