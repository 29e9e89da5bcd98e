import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import type { Activations } from './activations.js';

export interface DatasetEventsDependencies {
  readonly documents: Pick<DocumentStore, 'subscribe'>;
  readonly markets: Pick<ServedMarkets, 'declare'>;
  readonly activations: Pick<Activations, 'onActivated'>;
  readonly folders: Pick<ManagedFolders, 'remove'>;
}

/** Effects of commits on stores: another market is served, a replaced folder is removed. */
export function followDatasetEvents({ documents, markets, activations, folders }: DatasetEventsDependencies): void {
  documents.subscribe('market-activated', activations.onActivated);
  documents.subscribe('market-declared', markets.declare);
  documents.subscribe('folder-replaced', ({ store_id: datasetId, folder }) => {
    folders.remove(folder, datasetId).catch(() => {}); // What is left is removed at the next start.
  });
}
