import type { DataHistoryDocument, DataSource } from '#domain/documents/data-version-document.js';
import { isManaged, type DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { ContentCopies } from './content-copies.js';
import { readHistory, type PreparedVersion, type PreservedContent } from '../stored/data-history.js';
import type { PendingCopies } from './pending-copies.js';

/** Reads a content from its location; undefined if the location cannot be read. */
export type ContentReader = () => Promise<ServedMarket | undefined>;

/** Origin of a content. */
export interface ContentOrigin {
  readonly source: DataSource;
  /**
   * Kind of the store. Files of imported and synthetic stores belong to the service: no other program changes them, so
   * they need no copy.
   */
  readonly kind: DatasetDocument['kind'];
  /** Reads the current content of the store's files if the latest content is not served. */
  readonly replaced?: ContentReader;
}

interface ContentRecordingDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'write'>;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: ServedMarkets;
  readonly copies: ContentCopies;
  readonly pending: Pick<PendingCopies, 'expect' | 'isPending'>;
  readonly timestamp: () => string;
}

/** Preparation of the versions that contents add to the histories of their stores. */
export interface ContentRecording {
  /** Prepares the version that a content adds to the history of its store; null if the history ends with this content. */
  prepare(market: ServedMarket, origin: ContentOrigin): Promise<PreparedVersion | null>;
  /** Copies the latest content of a store that is not served; null if the store has no content, or a copy exists. */
  preserve(datasetId: string, content: ContentReader): Promise<PreservedContent | null>;
  /**
   * Returns the latest content of a store: the served content, its copy, or the content of its files; undefined if it
   * is lost.
   */
  findLastContent(
    head: DataHistoryDocument,
    after: Pick<ServedMarket, 'identity'>,
    readReplaced: ContentReader | undefined,
  ): Promise<ServedMarket | undefined>;
}

export function createContentRecording({
  documents,
  artifacts,
  jobs,
  markets,
  copies,
  pending,
  timestamp,
}: ContentRecordingDependencies): ContentRecording {
  async function prepare(
    market: ServedMarket,
    { source, kind, replaced }: ContentOrigin,
  ): Promise<PreparedVersion | null> {
    const { datasetId, contentHash } = market.identity;
    const head = await readHistory(documents, datasetId);
    const isManagedStore = isManaged(kind);
    if (!isManagedStore) pending.expect(contentHash);
    if (head?.content_hash === contentHash) return null;
    const firstSource = kind === 'synthetic' ? kind : 'import';
    const emptyChange = { previous: null, change: null, rows: null, forth: null };
    const draft = {
      datasetId,
      contentHash,
      source: head === undefined && (source === 'refresh' || source === 'reload') ? firstSource : source,
      knownAt: timestamp(),
      ...emptyChange,
    };
    const previousMarket = head === undefined ? undefined : await findLastContent(head, market, replaced);
    if (head === undefined || previousMarket === undefined) return draft;
    const isCopied = head.copy !== null || pending.isPending(head.content_hash);
    const input = { before: previousMarket.handle, after: market.handle, isBothWays: !isManagedStore && isCopied };
    const { back, forth, rows } = await jobs.query('content-change', input);
    const change = await artifacts.write(back.bytes, back.sha256);
    return { ...draft, previous: head.latest, change, rows, forth: await copies.change(head.copy, forth) };
  }

  async function findLastContent(
    head: DataHistoryDocument,
    after: Pick<ServedMarket, 'identity'>,
    readReplaced: ContentReader | undefined,
  ): Promise<ServedMarket | undefined> {
    const isLastContent = (content: ServedMarket | undefined): boolean =>
      content?.identity.datasetId === after.identity.datasetId && content.identity.contentHash === head.content_hash;
    const current = markets.served();
    if (isLastContent(current)) return current;
    const restoredMarket = await copies.restored(head, after);
    if (restoredMarket !== undefined) return restoredMarket;
    const replacedMarket = await readReplaced?.();
    return isLastContent(replacedMarket) ? replacedMarket : undefined;
  }

  async function preserve(datasetId: string, contentReader: ContentReader): Promise<PreservedContent | null> {
    const head = await readHistory(documents, datasetId);
    if (head === undefined || head.copy !== null) return null;
    const content = await contentReader();
    if (content?.identity.contentHash !== head.content_hash) return null;
    const copy = await copies.orNone(content);
    return copy === null ? null : { datasetId, contentHash: head.content_hash, copy };
  }

  return { prepare, preserve, findLastContent };
}
