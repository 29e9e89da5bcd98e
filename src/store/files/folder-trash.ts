import { access, mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FolderCall } from '../access/folder-calls.js';
import { WRITE_MS } from '../access/folder-calls.js';
import { ignoreAbsentFile } from '../access/artifact-fault.js';
import { TRASH } from './artifact-owners.js';
import { removeFiles, removeDraftSuffix } from './folder-writer.js';

/** Trash that keeps orphaned results until their deletion. */
export interface FolderTrash {
  take(names: readonly string[]): Promise<void>;
  /** Moves files back to the folder. @returns names that are neither in the folder nor in its trash */
  restore(names: readonly string[]): Promise<readonly string[]>;
  /** Deletes files that have been in the trash for at least this time. */
  empty(olderThanMs: number): Promise<void>;
}

interface TrashOptions {
  readonly call: FolderCall;
  /** Deletes files of the folder. */
  readonly remove: (names: readonly string[]) => Promise<void>;
}

/** Opens the trash of a shared folder, which is a subfolder. */
export function openFolderTrash(folder: string, { call, remove }: TrashOptions): FolderTrash {
  const trashFolder = join(folder, TRASH);

  async function trashFile(name: string): Promise<void> {
    // Deletes a draft, and does not move it to the trash. The file without the draft suffix may be complete and in use.
    if (removeDraftSuffix(name) !== name) return remove([name]);
    await call(() => rename(join(folder, name), join(trashFolder, name)), WRITE_MS).catch(ignoreAbsentFile);
  }

  async function restoreFile(name: string): Promise<string | undefined> {
    const isPresent = await call(() => access(join(folder, name))).then(() => true, ignoreAbsentFile);
    if (isPresent === true) return undefined;
    const isBack = await call(() => rename(join(trashFolder, name), join(folder, name)), WRITE_MS).then(
      () => true,
      ignoreAbsentFile,
    );
    return isBack === true ? undefined : name;
  }

  return {
    async take(names) {
      if (names.length === 0) return;
      await call(() => mkdir(trashFolder, { recursive: true }));
      for (const name of names) await trashFile(name);
    },
    async restore(names) {
      const missingNames: string[] = [];
      for (const name of names) {
        const result = await restoreFile(name);
        if (result !== undefined) missingNames.push(result);
      }
      return missingNames;
    },
    async empty(olderThanMs) {
      const oldNames = await readNames(trashFolder, olderThanMs, call).catch(ignoreAbsentFile);
      if (oldNames !== undefined) await removeFiles(trashFolder, oldNames, call);
    },
  };
}

/** Creates a trash that deletes files at once. It is for a local folder, because its backups contain deleted files. */
export function createNoTrash(folder: string, remove: TrashOptions['remove']): FolderTrash {
  return {
    take: remove,
    async restore(names) {
      const result = await Promise.all(
        names.map((name) => access(join(folder, name)).then(() => true, ignoreAbsentFile)),
      );
      return names.filter((_, i) => result[i] !== true);
    },
    empty: async () => {},
  };
}

/**
 * Lists the names in a folder, including those that are not of artifacts.
 * @param olderThanMs minimum age by the change time of the inode: a new hard link to an old file counts as new, and so
 * does a moved file
 */
export async function readNames(
  folder: string,
  olderThanMs: number | undefined,
  call: FolderCall,
): Promise<readonly string[]> {
  const names = await call(() => readdir(folder), WRITE_MS);
  if (olderThanMs === undefined) return names;
  const deletedBefore = Date.now() - olderThanMs;
  const oldNames: string[] = [];
  for (const name of names) {
    const result = await call(() => stat(join(folder, name))).catch(() => undefined); // another process may have removed the file in the meantime
    if (result !== undefined && result.ctimeMs < deletedBefore) oldNames.push(name);
  }
  return oldNames;
}
