import type { ManagedFolders } from '#market/content/managed-folder.js';
import { runOffMarket } from '#market/serving/call-market.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import type { Activations } from './activations.js';
import type { DataVersions } from './data-versions.js';
import type { StoreMarkets } from './store-markets.js';

export interface DatasetEventsDependencies {
  readonly documents: Pick<DocumentStore, 'subscribe'>;
  readonly markets: Pick<ServedMarkets, 'declare'>;
  readonly stores: Pick<StoreMarkets, 'onContent' | 'onRemoved'>;
  readonly activations: Pick<Activations, 'onActivated'>;
  readonly versions: Pick<DataVersions, 'onContent'>;
  readonly folders: Pick<ManagedFolders, 'remove'>;
}

/**
 * Handles the events of commits about stores: serves another market, copies contents, and removes a folder that was replaced.
 */
export function followDatasetEvents(dependencies: DatasetEventsDependencies): void {
  const { documents, markets, stores, activations, versions, folders } = dependencies;
  documents.subscribe('market-activated', (event) =>
    runOffMarket(() => {
      activations.onActivated(event);
      versions.onContent(event);
    }),
  );
  documents.subscribe('market-declared', markets.declare);
  documents.subscribe('store-content', (event) =>
    runOffMarket(() => {
      stores.onContent(event);
      versions.onContent(event);
    }),
  );
  documents.subscribe('store-removed', stores.onRemoved);
  documents.subscribe('folder-replaced', ({ store_id: datasetId, folder }) => {
    folders.remove(folder, datasetId).catch(() => {}); // the next start removes remaining folders
  });
}
