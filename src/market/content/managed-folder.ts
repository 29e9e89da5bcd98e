import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isUnavailable } from '#domain/refusals/refusal.js';
import { flushFolder } from './write-market.js';

/**
 * Name of the file that marks a folder as created by the service. Files with names that begin with a dot are never read
 * as data.
 */
const MARKER_FILE = '.divisor-store.json';
const TRASH_PREFIX = '.trash-';
/** Prefix of a new folder until it is complete. */
const DRAFT_PREFIX = '.draft-';

/** Folders that the service creates for stores, all in one subfolder of its data folder. */
export interface ManagedFolders {
  /** Creates a marked folder for a version of a store. Folders of older versions remain. */
  create(datasetId: string): Promise<string>;
  /**
   * Creates a marked folder with this name and fetches its files from another machine. Does nothing if the folder
   * exists. If the folder is removed during the fetch, it does not exist afterwards.
   */
  receive(name: string, datasetId: string, fetch: (draft: string) => Promise<void>): Promise<void>;
  /** Removes a folder only if it has the mark of the store. @returns true if it was removed */
  remove(folder: string, datasetId: string): Promise<boolean>;
  /**
   * Removes the folder of failed work, unless a document that names the folder may be on disk. After a failed commit,
   * this is unknown until the next start, which removes unreferenced folders. Never rejects.
   */
  discardFailed(folder: string, datasetId: string, failure: unknown): Promise<void>;
  /**
   * Removes every marked folder that no store refers to, such as the remains of a crash. Called at the start. Keeps
   * folders that this process created.
   */
  sweep(named: ReadonlySet<string>): Promise<void>;
}

export function createManagedFolders(root: string): ManagedFolders {
  /** Fetches in progress. The same folder can be fetched several times. */
  const fetches = new Set<{ readonly folder: string; isRemoved: boolean }>();
  /** Folders created before `sweep` ends, which must not remove them: work may begin earlier. */
  const ownFolders = new Set<string>();
  let isSwept = false;

  async function discard(folder: string): Promise<void> {
    const trashFolder = join(dirname(folder), `${TRASH_PREFIX}${randomBytes(8).toString('hex')}`);
    await rename(folder, trashFolder);
    await rm(trashFolder, { recursive: true, force: true });
  }

  async function remove(folder: string, datasetId: string): Promise<boolean> {
    for (const one of fetches) if (one.folder === folder) one.isRemoved = true;
    if (dirname(folder) !== root || (await readMarkedStore(folder)) !== datasetId) return false;
    await discard(folder);
    return true;
  }

  async function makeManagedFolder(
    folder: string,
    datasetId: string,
    fill: (draft: string) => Promise<void>,
  ): Promise<void> {
    const draftFolder = join(root, `${DRAFT_PREFIX}${randomBytes(4).toString('hex')}`);
    if (!isSwept) ownFolders.add(folder).add(draftFolder);
    try {
      await mkdir(draftFolder, { recursive: true, mode: 0o700 });
      await writeFile(join(draftFolder, MARKER_FILE), JSON.stringify({ format: 1, store_id: datasetId }), {
        mode: 0o600,
        flush: true,
      });
      await fill(draftFolder);
      await rename(draftFolder, folder); // the mark is written before the folder gets its name
    } catch (failure) {
      await rm(draftFolder, { recursive: true, force: true }).catch(() => {}); // the next start removes the remains
      throw failure;
    }
    await flushFolder(root);
  }

  return {
    async create(datasetId) {
      const folder = join(root, `${datasetId}.${randomBytes(4).toString('hex')}`);
      await makeManagedFolder(folder, datasetId, async () => {});
      return folder;
    },
    async receive(name, datasetId, fetch) {
      const folder = join(root, name);
      const isInParent = async () => (await readMarkedStore(folder)) === datasetId;
      if (await isInParent()) return;
      const current = { folder, isRemoved: false };
      fetches.add(current);
      try {
        await makeManagedFolder(folder, datasetId, fetch);
      } catch (failure) {
        if (!(await isInParent())) throw failure; // another request has fetched the folder
      } finally {
        fetches.delete(current);
      }
      if (current.isRemoved) await remove(folder, datasetId);
    },
    remove,
    async discardFailed(folder, datasetId, failure) {
      if (isUnavailable(failure)) return;
      await remove(folder, datasetId).catch(() => false);
    },
    async sweep(named) {
      for (const name of await readdir(root).catch(() => [])) {
        const folder = join(root, name);
        if (ownFolders.has(folder)) continue;
        if (name.startsWith(TRASH_PREFIX) || name.startsWith(DRAFT_PREFIX))
          await rm(folder, { recursive: true, force: true });
        else if (!named.has(folder) && (await readMarkedStore(folder)) !== undefined) await discard(folder);
      }
      isSwept = true;
      ownFolders.clear();
    },
  };
}

/**
 * Returns the id of the store in the marker file of a folder. Returns undefined if the folder has no valid marker file.
 */
async function readMarkedStore(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, MARKER_FILE), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const marker = JSON.parse(text) as { readonly store_id?: unknown } | null;
    return typeof marker?.store_id === 'string' ? marker.store_id : undefined;
  } catch {
    return undefined; // a mark truncated by a crash identifies no store; the folder is left for the operator
  }
}
