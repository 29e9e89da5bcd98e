import { copyFile, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Refusal } from '#domain/base/refusals.js';
import type { CalendarsInUse } from '#domain/calendars/calendar.js';
import type { DatasetDocument } from '#domain/definition/datasets.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { DatabaseLocations } from '#market/read/database-location.js';
import type { Locations } from '#market/read/folder.js';
import type { ServedMarkets } from '#market/serve/served-markets.js';
import type { ArtifactStore, DocumentStore, DocumentTransaction } from '#store/port.js';
import type { Context } from '../shared/context.js';
import { listDatasets } from '../shared/store-documents.js';

/**
 * Updates the locations of managed stores. If a home was moved, mounted elsewhere or restored, its documents still
 * contain the old path. Must be called before unreferenced folders are removed.
 * @param folder the home's folder of managed stores
 */
export async function relocateDatasets(documents: DocumentStore, folder: string): Promise<void> {
  for (const store of await listDatasets(documents)) {
    if (!store.managed || store.location === null || dirname(store.location) === folder) continue;
    const location = join(folder, basename(store.location));
    const isFolder = await stat(location).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (isFolder) await documents.transaction((tx) => tx.put('store', store.store_id, { ...store, location }));
  }
}

type RetainedFiles = Pick<DatasetDocument, 'kept'>;
type StoredLocation = Pick<DatasetDocument, 'store_id' | 'location' | 'kept'>;

/** Storage of the files of managed stores: in a single home, or in shared artifacts. */
export interface StoreFiles {
  /**
   * Stores the files of a complete folder.
   * @returns the document fields that describe the files
   * @throws Refusal STORE_UNAVAILABLE, STORAGE_FULL
   */
  keep(folder: string): Promise<RetainedFiles>;
  /**
   * Returns a store whose folder is on this machine. Fetches the files that are missing.
   * @throws Refusal STORE_UNAVAILABLE, DOCUMENT_UNREADABLE
   */
  here<S extends StoredLocation>(store: S): Promise<S>;
  /** Fetches the files of a store again, because those in its folder are damaged. Undefined if there are no others. */
  refetch<S extends StoredLocation>(store: S): Promise<S | undefined>;
}

/**
 * Context of data stores: that of all services without what data stores add to it, with the places where the data of
 * stores is.
 */
export interface SourceContext extends Omit<Context, 'markets' | 'stores' | 'dataVersions' | 'states' | 'approvals'> {
  readonly markets: ServedMarkets;
  readonly locations: Locations;
  readonly databases: DatabaseLocations;
  readonly folders: ManagedFolders;
  readonly files: StoreFiles;
  readonly calendarsInUse: CalendarsInUse;
}

/** Storage for a single process, whose home contains the folders. */
export const localStoreFiles: StoreFiles = {
  keep: async () => ({}),
  here: async (store) => store,
  refetch: async () => undefined,
};

/**
 * Creates the storage for several processes. Each file is an artifact, and the store's document refers to it. A folder
 * in a home is only a copy.
 * @param root folder of the managed stores of this machine
 */
export function createSharedStoreFiles(artifacts: ArtifactStore, folders: ManagedFolders, root: string): StoreFiles {
  async function fetchCopies(copies: NonNullable<RetainedFiles['kept']>, folder: string): Promise<void> {
    for (const { name, artifact } of copies) {
      if (!(await artifacts.isIntact(artifact)))
        throw new Refusal('DOCUMENT_UNREADABLE', `The file ${name} of the data store is missing or damaged.`);
      await copyFile(await artifacts.file(artifact), join(folder, name));
    }
  }

  async function fetchHere<S extends StoredLocation>(store: S): Promise<S> {
    const { kept, location, store_id: datasetId } = store;
    if (kept === undefined || location === null) return store;
    const name = basename(location);
    await folders.receive(name, datasetId, (draft) => fetchCopies(kept, draft));
    return { ...store, location: join(root, name) };
  }

  return {
    async keep(folder) {
      const keptFiles = [];
      for (const name of await readdir(folder)) {
        if (name.startsWith('.')) continue; // The mark identifies a folder of one home only.
        keptFiles.push({ name, artifact: await artifacts.writeFile(join(folder, name)) });
      }
      return { kept: keptFiles };
    },
    here: fetchHere,
    async refetch(store) {
      const { kept, location, store_id: datasetId } = store;
      if (kept === undefined || location === null) return undefined;
      return (await folders.remove(join(root, basename(location)), datasetId)) ? fetchHere(store) : undefined;
    },
  };
}

/**
 * Sends an event to every process when a store's folder was replaced or removed. Each process then removes its copy.
 */
export function publishReplaced(tx: DocumentTransaction, previousDocument: DatasetDocument | undefined): void {
  if (previousDocument?.kept !== undefined && previousDocument.location !== null)
    tx.publish({ type: 'folder-replaced', store_id: previousDocument.store_id, folder: previousDocument.location });
}
