import { open } from 'node:fs/promises';

/** Puts the names in a folder on disk: a new file survives a power failure only once its folder is flushed too. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
