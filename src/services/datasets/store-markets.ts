import type { CommitEvents } from '#domain/documents/commit-events.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import { mayRead } from '#domain/documents/reach.js';
import { refuseWhileLoading } from '#domain/market/dataset-loading.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { runOffMarket, onMarket } from '#market/serving/call-market.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { redeclareMarket, type ServedMarkets } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import { runUnrestricted } from '#store/reach/reach-context.js';
import { currentReach, outside } from '../operations/access.js';
import { requireDataset } from '../stored/dataset-documents.js';

/** Markets of all data stores. The active store is in memory; another store is loaded when it is first used. */
export interface StoreMarkets {
  /**
   * Returns the present market of a store.
   * @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, STORE_LOADING, STORE_UNAVAILABLE; VALIDATION_FAILED,
   * NOT_SUPPORTED if its source cannot be read
   */
  of(datasetId: string): Promise<ServedMarket>;
  /**
   * Runs work on the market of a store. If no store is given, the work uses the market of the current call. @throws
   * Refusal, see `of`
   */
  within<T>(datasetId: string | null | undefined, work: () => T | Promise<T>): Promise<T>;
  /** Caches the new content of an inactive store, if this process has the content. */
  onContent(event: CommitEvents['store-content']): void;
  /** Releases the content of a removed store. */
  onRemoved(event: CommitEvents['store-removed']): void;
  /** Returns the ids of the cached stores other than the active store, least recently used first. */
  listKept(): readonly string[];
}

export interface StoreMarketsDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  /** Market of the active store. */
  readonly markets: Pick<ServedMarkets, 'served' | 'awaited' | 'hold' | 'find'>;
  /** Reads the content that the document of a store describes. */
  readonly load: (document: DatasetDocument) => Promise<ServedMarket>;
  /** Maximum total size in bytes of the panels of cached stores. The store that was used last is always kept. */
  readonly keptBytesMax: number;
}

/** Maximum number of times that a store is read if it changes during the read. */
const READS_MAX = 3;

export function createStoreMarkets({ documents, markets, load, keptBytesMax }: StoreMarketsDependencies): StoreMarkets {
  /** Markets by store, least recently used first. */
  const keptMarkets = new Map<string, ServedMarket>();
  /** Contents that are no longer cached but that a running call may still use. */
  const releasedMarkets = new Map<string, WeakRef<ServedMarket>>();
  const pendingReads = new Map<string, Promise<ServedMarket>>();
  /** Promise of the last read. Stores are read one at a time, because each read needs memory and processor time. */
  let lastRead: Promise<unknown> = Promise.resolve();

  function releaseMarket(datasetId: string): void {
    const market = keptMarkets.get(datasetId);
    keptMarkets.delete(datasetId);
    for (const [id, marketRef] of releasedMarkets) if (marketRef.deref() === undefined) releasedMarkets.delete(id);
    if (market !== undefined) releasedMarkets.set(datasetId, new WeakRef(market));
  }

  function keepMarket(market: ServedMarket): void {
    const { datasetId } = market.identity;
    markets.hold(market);
    keptMarkets.delete(datasetId);
    releasedMarkets.delete(datasetId);
    keptMarkets.set(datasetId, market);
    const activeId = markets.served()?.identity.datasetId;
    if (activeId !== undefined) keptMarkets.delete(activeId);
    let bytes = [...keptMarkets.values()].reduce((sum, { handle }) => sum + countBytes(handle), 0);
    for (const [id, { handle }] of keptMarkets) {
      if (bytes <= keptBytesMax || keptMarkets.size === 1) break; // the most recently used store stays
      bytes -= countBytes(handle);
      releaseMarket(id);
    }
  }

  async function requireStored(datasetId: string): Promise<DatasetDocument> {
    const { document } = await runUnrestricted(() => requireDataset(documents, datasetId));
    if (!document.writing && document.content_hash !== null) return document;
    throw new Refusal('STORE_LOADING', `The data store ${datasetId} is being read or written.`);
  }

  /** Returns the content that a document describes, if it is in memory. */
  function findServedContent(document: DatasetDocument): ServedMarket | undefined {
    const { store_id: datasetId, content_hash: contentHash, adjustment, currency } = document;
    const market = keptMarkets.get(datasetId) ?? releasedMarkets.get(datasetId)?.deref();
    if (market?.identity.contentHash === contentHash) return redeclareMarket(market, { adjustment, currency });
    releaseMarket(datasetId);
    releasedMarkets.delete(datasetId);
    return undefined;
  }

  async function read(datasetId: string): Promise<ServedMarket> {
    for (let attempt = 1; ; attempt++) {
      const document = await requireStored(datasetId);
      try {
        return await runOffMarket(() => runUnrestricted(() => load(document)));
      } catch (failure) {
        const isChanged = (await requireStored(datasetId)).content_hash !== document.content_hash;
        if (!isChanged || attempt === READS_MAX) throw failure;
      }
    }
  }

  function readMarket(datasetId: string): Promise<ServedMarket> {
    const pendingRead = pendingReads.get(datasetId);
    if (pendingRead !== undefined) return pendingRead;
    const ownRead = lastRead.then(() => read(datasetId)).finally(() => pendingReads.delete(datasetId));
    lastRead = ownRead.catch(() => {}); // the failure is reported to the callers that wait for the read
    pendingReads.set(datasetId, ownRead);
    return ownRead;
  }

  async function getMarket(datasetId: string): Promise<ServedMarket> {
    const active = markets.served();
    if (active?.identity.datasetId === datasetId) return active;
    if (markets.awaited() === datasetId) throw refuseWhileLoading(datasetId);
    const reach = currentReach();
    if (reach !== undefined && !mayRead(reach, 'store', datasetId)) throw outside(reach, 'store', datasetId);
    for (let attempt = 1; ; attempt++) {
      const servedMarket = findServedContent(await requireStored(datasetId));
      const market = servedMarket ?? (await readMarket(datasetId));
      keepMarket(market);
      // Another call may have started the read, so the content may be older than this call.
      if (servedMarket !== undefined || attempt > READS_MAX) return market;
    }
  }

  return {
    of: getMarket,
    within: async (datasetId, work) => (datasetId == null ? work() : onMarket(await getMarket(datasetId), work)),
    onContent({ market }) {
      const content = markets.find(market);
      if (content !== undefined) keepMarket(content);
    },
    onRemoved: ({ store_id: datasetId }) => releaseMarket(datasetId),
    listKept: () => [...keptMarkets.keys()],
  };
}

function countBytes({ fields }: ServedMarket['handle']): number {
  return fields.reduce((sum, { values }) => sum + values.byteLength, 0);
}
