import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { DocumentTransaction } from '#store/port.js';
import type { Activations } from './activations.js';
import { summariseServed } from './served-content.js';
import { recordDataVersion, type PreparedVersion } from '../stored/data-history.js';
import { purgeDataVersions } from './purge-versions.js';
import { listDatasets } from '../stored/dataset-documents.js';

/** Store to activate, with its market. */
export interface Activation {
  readonly document: DatasetDocument;
  /** Service that makes a market active. It has prepared the market before the transaction starts. */
  readonly served: ServedMarket;
  readonly activations: Pick<Activations, 'activate' | 'readBy'>;
  /**
   * Version to append to the history of the store; null if the last version of the history already has this content.
   */
  readonly version: PreparedVersion | null;
}

/** New content of a store that is not active. */
export interface Replacement extends Omit<Activation, 'activations'> {
  readonly activations: Pick<Activations, 'replace'>;
}

/**
 * Stores a data store as the active store and makes all other stores inactive. Its market is served after this write is
 * on disk. If the write is refused, the market is not served.
 */
export async function activateDataset(
  tx: DocumentTransaction,
  { document, served, activations, version }: Activation,
): Promise<void> {
  for (const other of await listDatasets(tx))
    if (other.active && other.store_id !== document.store_id)
      await tx.put('store', other.store_id, { ...other, active: false });
  const { read_by: _, ...rest } = document;
  const { readBy } = activations;
  const read = readBy !== undefined && isWhole(document, served) ? { read_by: readBy } : {};
  await tx.put('store', document.store_id, { ...rest, ...summariseServed(served), ...read, active: true });
  await recordVersion(tx, document, version);
  await activations.activate(tx, served);
}

/** Writes the content of a store without changing which store is active. */
export async function replaceDataset(
  tx: DocumentTransaction,
  { document, served, activations, version }: Replacement,
): Promise<void> {
  await tx.put('store', document.store_id, { ...document, ...summariseServed(served) });
  await recordVersion(tx, document, version);
  await activations.replace(tx, served);
}

async function recordVersion(
  tx: DocumentTransaction,
  document: DatasetDocument,
  version: PreparedVersion | null,
): Promise<void> {
  if (version === null) return;
  await recordDataVersion(tx, version, countRows(document));
  await purgeDataVersions(tx, version.datasetId);
}

/** Returns true if the content has all rows of the store's files. A refresh can leave rows out. */
function isWhole({ files }: DatasetDocument, servedMarket: ServedMarket): boolean {
  return files.length > 0 && files.length === servedMarket.files.length;
}

/** Counts the rows of all tables of a store. */
export function countRows({ rows }: Pick<DatasetDocument, 'rows'>): number {
  return Object.values(rows ?? {}).reduce((sum, count) => sum + count, 0);
}
