import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';

export interface DatasetEventsDependencies {
  readonly documents: Pick<DocumentStore, 'subscribe'>;
  readonly markets: Pick<ServedMarkets, 'activate' | 'declare'>;
  readonly folders: Pick<ManagedFolders, 'remove'>;
}

/** Effects of commits on stores: another market is served, a replaced folder is removed. */
export function followDatasetEvents({ documents, markets, folders }: DatasetEventsDependencies): void {
  documents.subscribe('market-activated', markets.activate);
  documents.subscribe('market-declared', markets.declare);
  documents.subscribe('folder-replaced', ({ store_id: datasetId, folder }) => {
    folders.remove(folder, datasetId).catch(() => {}); // What is left is removed at the next start.
  });
}
