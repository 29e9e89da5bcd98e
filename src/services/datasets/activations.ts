import type { CommitEvents } from '#domain/documents/commit-events.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import { ActiveMarketDocument } from '#domain/documents/active-market-document.js';
import { createMarketKey, type MarketIdentity } from '#domain/market/market-identity.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { encodeSnapshot, readSnapshot } from '#market/serving/market-snapshot.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { prepareServedMarket, type ServedMarkets } from '#market/serving/served-markets.js';
import type { ArtifactRef, ArtifactStore, DocumentStore, DocumentTransaction } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { writeHashed } from '../shared/write-hashed.js';

/** Service that makes a market active: in this process only, or in every process that shares the documents. */
export interface Activations {
  /**
   * Build of this engine, recorded in stores that it has read. Absent if several processes serve data that one of them
   * read.
   */
  readonly readBy?: string;
  /**
   * Prepares a market in every process that will serve it. Must be called before the transaction that makes the market
   * active.
   */
  prepare(servedMarket: ServedMarket): Promise<void>;
  /** Makes a prepared market active. It is served after the transaction is on disk. */
  activate(tx: DocumentTransaction, servedMarket: ServedMarket): Promise<void>;
  /** Stores changed declarations of the active market and sends them to all processes. */
  declare(tx: DocumentTransaction, event: CommitEvents['market-declared']): Promise<void>;
  /** Replaces the content of an inactive store with a prepared market. */
  replace(tx: DocumentTransaction, servedMarket: ServedMarket): Promise<void>;
  /**
   * Returns the shared content of a store. Returns undefined if the content must be read from the source.
   * @throws Refusal STORE_UNAVAILABLE, DOCUMENT_UNREADABLE
   */
  shared(document: DatasetDocument): Promise<ServedMarket | undefined>;
  /** Deletes the shared content of a deleted store. */
  forget(tx: DocumentTransaction, datasetId: string): Promise<void>;
  /** Handles the event that this process or another process activated a market. */
  onActivated(event: CommitEvents['market-activated']): void;
  /**
   * Serves the market that the documents name as the active market. If it is already served, the call costs one read.
   * @returns false if the documents name no active market
   * @throws Refusal STORE_UNAVAILABLE, DOCUMENT_UNREADABLE
   */
  follow(): Promise<boolean>;
}

/** Creates the activations of a single process. Its memory holds the market. */
export function createLocalActivations(markets: ServedMarkets, readBy: string): Activations {
  return {
    readBy,
    async prepare() {},
    async activate(tx, servedMarket) {
      tx.publish(markets.activation(servedMarket));
    },
    async declare(tx, event) {
      tx.publish({ type: 'market-declared', ...event });
    },
    async replace(tx, servedMarket) {
      markets.hold(servedMarket);
      tx.publish({ type: 'store-content', market: servedMarket.identity });
    },
    shared: async () => undefined,
    async forget() {},
    onActivated: markets.activate,
    follow: async () => false,
  };
}

/** Id of the document that contains the id of the served market. */
const ACTIVE = 'active';

/** Returns the id of the document that refers to the shared content of a store. Ids of stores contain no slash. */
const formatSharedId = (datasetId: string): string => `store/${datasetId}`;

/** Maximum number of times that the active market may change while markets are fetched. */
const FOLLOWED_MAX = 20;

export interface SharedActivationsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly markets: ServedMarkets;
  /** Receives the error if a market that another process activated cannot be fetched. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Creates activations for several processes. The columns of a market are stored as an artifact that never changes, and
 * a document refers to the active market. A process that cannot read the source of a store reads the artifact.
 */
export function createSharedActivations(dependencies: SharedActivationsDependencies): Activations {
  const { documents, artifacts, markets, onFailure } = dependencies;
  const snapshots = new WeakMap<MarketIdentity, ArtifactRef>();
  let lastFetch: Promise<unknown> = Promise.resolve();

  async function findActiveMarket(
    reader: Pick<DocumentStore, 'get'>,
    id: string,
  ): Promise<ActiveMarketDocument | undefined> {
    const storedDocument = await reader.get('market', id);
    if (storedDocument === undefined) return undefined;
    const active = parseStored(storedDocument, ActiveMarketDocument);
    if (active === undefined)
      throw new Refusal('DOCUMENT_UNREADABLE', 'What market is active cannot be read; activate a data store again.');
    return active;
  }

  const readActive = (reader: Pick<DocumentStore, 'get'>) => findActiveMarket(reader, ACTIVE);

  /** Stores the document that refers to the shared content of a store. */
  async function shareMarket(tx: DocumentTransaction, servedMarket: ServedMarket): Promise<ActiveMarketDocument> {
    const snapshot = snapshots.get(servedMarket.identity);
    if (snapshot === undefined) throw new Error('a market was shared that was not prepared');
    const { datasetId, contentHash, adjustment, currency = null } = servedMarket.identity;
    const market = { datasetId, contentHash, adjustment, currency };
    const document: ActiveMarketDocument = { market, loaded_at: servedMarket.loadedAt, snapshot };
    await tx.put('market', formatSharedId(datasetId), document);
    return document;
  }

  const isServed = ({ market }: ActiveMarketDocument): boolean => {
    const servedMarket = markets.served();
    return servedMarket !== undefined && createMarketKey(servedMarket.identity) === createMarketKey(market);
  };

  /** Fetches and serves markets until the active market is served. */
  async function fetchActiveMarket(): Promise<boolean> {
    for (let i = 0; i < FOLLOWED_MAX; i++) {
      const activeDataset = await readActive(documents);
      if (activeDataset === undefined) return false;
      if (isServed(activeDataset)) return true;
      const { datasetId, adjustment, currency, contentHash } = activeDataset.market;
      const servedMarket = markets.served();
      if (servedMarket?.identity.datasetId === datasetId && servedMarket.identity.contentHash === contentHash) {
        markets.declare({ datasetId, adjustment, currency });
        continue;
      }
      const { handle, files } = await readSnapshot(await artifacts.file(activeDataset.snapshot));
      markets.serve(await prepareServedMarket({ ...handle, adjustment, currency }, activeDataset.loaded_at, files));
    }
    return true;
  }

  /** Fetches one market at a time. A caller that arrives during a fetch waits for it and then checks again. */
  async function followActiveMarket(): Promise<boolean> {
    const activeDataset = await readActive(documents);
    if (activeDataset === undefined) return false;
    if (isServed(activeDataset)) return true;
    const ownFetch = lastFetch.then(fetchActiveMarket);
    lastFetch = ownFetch.catch(() => {}); // the error is reported to the caller of `followActiveMarket`
    return ownFetch;
  }

  return {
    async prepare(servedMarket) {
      snapshots.set(servedMarket.identity, await writeHashed(artifacts, await encodeSnapshot(servedMarket)));
    },
    async activate(tx, servedMarket) {
      await tx.put('market', ACTIVE, await shareMarket(tx, servedMarket));
      tx.publish(markets.activation(servedMarket));
    },
    async replace(tx, servedMarket) {
      await shareMarket(tx, servedMarket);
      markets.hold(servedMarket);
      tx.publish({ type: 'store-content', market: servedMarket.identity });
    },
    async shared({ store_id: datasetId, content_hash: contentHash, adjustment, currency }) {
      const activeDataset = await findActiveMarket(documents, formatSharedId(datasetId));
      if (activeDataset === undefined || activeDataset.market.contentHash !== contentHash) return undefined;
      const { handle, files } = await readSnapshot(await artifacts.file(activeDataset.snapshot));
      return prepareServedMarket({ ...handle, adjustment, currency }, activeDataset.loaded_at, files);
    },
    forget: async (tx, datasetId) => void (await tx.delete('market', formatSharedId(datasetId))),
    async declare(tx, event) {
      const { datasetId, adjustment, currency = null } = event;
      const activeDataset = await readActive(tx);
      if (activeDataset?.market.datasetId === datasetId)
        await tx.put('market', ACTIVE, { ...activeDataset, market: { ...activeDataset.market, adjustment, currency } });
      tx.publish({ type: 'market-declared', ...event });
    },
    onActivated(event) {
      if (markets.find(event.market) !== undefined) markets.activate(event);
      // Another market may be active by now.
      followActiveMarket().catch(onFailure);
    },
    follow: followActiveMarket,
  };
}
