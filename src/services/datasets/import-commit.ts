import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { prepareServedMarket } from '#market/serving/served-markets.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import type { DatasetActivity } from './activity.js';
import { requireDataset } from '../stored/dataset-documents.js';
import type { DataSource } from '#domain/documents/data-version-document.js';
import { recordCopy } from '../stored/data-history.js';
import type { DataVersions } from './data-versions.js';
import { activateDataset } from './activate.js';
import type { Activations } from './activations.js';
import { publishReplaced, type StoreFiles } from './store-files.js';

import type { DatasetLoading } from './loading.js';
interface ImportCommitDependencies {
  readonly documents: DocumentStore;
  readonly activity: DatasetActivity;
  readonly activations: Activations;
  readonly folders: ManagedFolders;
  readonly files: StoreFiles;
  readonly versions: Pick<DataVersions, 'prepare' | 'preserve'>;
  readonly loading: Pick<DatasetLoading, 'read'>;
  /** Aborted when the service stops. */
  readonly closing: AbortSignal;
}

interface CommitTerms {
  /** Store that the import replaces or appends to. */
  readonly previous?: DatasetDocument | undefined;
  /** Origin of the content. */
  readonly source: DataSource;
  readonly by: Authorship | undefined;
}

/** Writes an imported store. Serves the store if it was loaded, and removes the folder that the store used before. */
export async function commitImport(
  {
    documents,
    activity,
    activations,
    folders,
    files: storeFiles,
    versions,
    loading,
    closing,
  }: ImportCommitDependencies,
  dataset: DatasetDocument,
  handle: MarketHandle | null,
  { previous, source, by }: CommitTerms,
): Promise<void> {
  const document = { ...dataset, ...(await storeFiles.keep(dataset.location!)) }; // an imported store has a folder
  const servedMarket = handle === null ? undefined : await prepareServedMarket(handle, document.last_loaded_at!);
  const replaceValue = (): Promise<ServedMarket | undefined> => readReplacedMarket({ loading, closing }, previous);
  const version =
    servedMarket === undefined
      ? null
      : await versions.prepare(servedMarket, { source, kind: document.kind, replaced: replaceValue });
  const preservedContent =
    servedMarket === undefined && previous !== undefined
      ? await versions.preserve(previous.store_id, replaceValue)
      : null;
  if (servedMarket !== undefined) await activations.prepare(servedMarket);
  const write = async (tx: DocumentTransaction): Promise<void> => {
    if (previous === undefined) await activity.assertFree(document.store_id, tx);
    else await assertUnchanged(tx, previous);
    publishReplaced(tx, previous);
    if (preservedContent !== null) await recordCopy(tx, preservedContent);
    if (servedMarket === undefined) await tx.put('store', document.store_id, document);
    else await activateDataset(tx, { document, served: servedMarket, activations, version });
  };
  await documents.transaction(write, { by });
  // The store now uses the new folder. If the old folder cannot be removed, the next start of the service removes it.
  if (previous?.location != null) await folders.remove(previous.location, document.store_id).catch(() => false);
}

/** Reads the content of a store before it is replaced. Returns undefined if the content can no longer be read. */
async function readReplacedMarket(
  { loading, closing }: Pick<ImportCommitDependencies, 'loading' | 'closing'>,
  previousDocument: DatasetDocument | undefined,
): Promise<ServedMarket | undefined> {
  if (previousDocument?.location == null) return undefined;
  try {
    const loadOutcome = await loading.read(previousDocument, { serve: true, signal: closing });
    return loadOutcome.kind === 'loaded' ? loadOutcome.served : undefined;
  } catch (failure) {
    if (failure instanceof Refusal) return undefined;
    throw failure;
  }
}

/**
 * Checks that no other process has imported into the store since it was read. The rows of that import would be lost.
 */
export async function assertUnchanged(
  reader: Pick<DocumentStore, 'get'>,
  previousDocument: DatasetDocument,
): Promise<void> {
  const { store_id: datasetId, location } = previousDocument;
  const { document } = await requireDataset(reader, datasetId);
  if (document.location !== location)
    throw new Refusal('STORE_LOADING', `The data store ${datasetId} was changed by another import; send it again.`);
}
