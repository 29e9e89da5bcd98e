import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketIdentity } from '#domain/market/market-identity.js';
import { Refusal, type ErrorCode } from '#domain/refusals/refusal.js';
import type { Markets, ServedMarket } from '#market/serving/markets.js';
import type { DocumentStore } from '#store/port.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { readDataset } from '../stored/dataset-documents.js';

export interface RunStoresDependencies {
  readonly documents: DocumentStore;
  readonly markets: Pick<Markets, 'served'>;
  readonly stores: Pick<StoreMarkets, 'of'>;
}

/** Codes of refusals that may go away later. The run stays with its store. */
const TEMPORARY_CODES: ReadonlySet<string> = new Set<ErrorCode>(['STORE_UNAVAILABLE', 'OVERLOADED', 'STORAGE_FULL']);

interface DatasetsByContent {
  /** Revision of the documents when they were read. */
  readonly revision: number;
  readonly contents: readonly (MarketIdentity & { readonly isActive: boolean })[];
}

/** Returns functions that find the stores of runs. */
export function createRunStores({ documents, markets, stores }: RunStoresDependencies) {
  /**
   * Returns the store of a run. If the run was stored without its store, returns a store with the same content, if any.
   */
  async function findDataset({
    store_id: datasetId,
    store_content_hash: hash,
  }: RunDocument): Promise<string | undefined> {
    if (datasetId !== undefined) return datasetId;
    const servedHandle = markets.served()?.handle;
    if (servedHandle?.contentHash === hash) return servedHandle.datasetId;
    return (await readDatasetsByContent()).contents.find(({ contentHash }) => contentHash === hash)?.datasetId;
  }

  let datasets: DatasetsByContent | undefined;

  /** Lists the content hash and the properties of each store. The list is cached until a store changes. */
  async function readDatasetsByContent(): Promise<DatasetsByContent> {
    const revision = await documents.revision('store');
    if (datasets?.revision === revision) return datasets;
    const { documents: allDatasets } = await documents.list('store', readDataset);
    const contents = allDatasets.flatMap(
      ({ store_id: datasetId, content_hash: contentHash, adjustment, currency, active: isActive }) =>
        contentHash === null ? [] : [{ datasetId, contentHash, adjustment, currency, isActive }],
    );
    const cachedContents = { revision, contents };
    datasets = cachedContents;
    return cachedContents;
  }

  /**
   * Returns the content that a new run would use. It is the content of the given store; if none is given, the served
   * content or that of the previously active store.
   */
  async function readCurrentContent(storeId: string | null): Promise<MarketIdentity | undefined> {
    const servedHandle = markets.served()?.handle;
    if (servedHandle !== undefined && (storeId === null || storeId === servedHandle.datasetId)) return servedHandle;
    const { contents } = await readDatasetsByContent();
    return contents.find(({ isActive, datasetId }) => (storeId === null ? isActive : datasetId === storeId));
  }

  /** Returns the market of a run's store. @throws Refusal STORE_MISMATCH */
  async function findMarket(run: RunDocument, active: ServedMarket | undefined): Promise<ServedMarket | undefined> {
    const storeId = await findDataset(run);
    if (storeId === undefined || storeId === active?.identity.datasetId) return active;
    try {
      return await stores.of(storeId);
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || TEMPORARY_CODES.has(refusal.code)) throw refusal;
      const message = `The run of ${run.run_id} was made on the store ${storeId}, which cannot be read: ${refusal.message}`;
      const detail = { store_id: storeId, served_store_id: active?.identity.datasetId ?? null };
      throw new Refusal('STORE_MISMATCH', message, detail, { cause: refusal });
    }
  }

  return { datasetOf: findDataset, currentContent: readCurrentContent, marketOf: findMarket };
}
