import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { DocumentStore } from '#store/port.js';
import { listDatasets } from '../stored/dataset-documents.js';

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
