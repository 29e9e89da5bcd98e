import type { DataHistoryDocument, DataSource } from '#domain/documents/data-version-document.js';
import { isManaged, type DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { ContentCopies } from './content-copies.js';
import { readHistory, type PreparedVersion, type PreservedContent } from '../stored/data-history.js';
import type { PendingCopies } from './pending-copies.js';

/** Function that reads a content from its location. It returns undefined if the location cannot be read. */
export type ContentReader = () => Promise<ServedMarket | undefined>;

/** Data source of a content, with the kind of its store. */
export interface ContentOrigin {
  readonly source: DataSource;
  /**
   * Kind of the store. Files of imported and synthetic stores belong to the service. No other program changes them, so
   * they are not copied.
   */
  readonly kind: DatasetDocument['kind'];
  /** Reads the content that the store's files have now. Used if the latest content is not served. */
  readonly replaced?: ContentReader;
}

interface ContentRecordingDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'write'>;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: ServedMarkets;
  readonly copies: ContentCopies;
  readonly pending: Pick<PendingCopies, 'expect' | 'find'>;
  readonly timestamp: () => string;
}

/** Service that prepares the next version in the history of a store. */
export interface ContentRecording {
  /**
   * Prepares the version to add to the history of a store. Returns null if the last version already has this content.
   */
  prepare(market: ServedMarket, origin: ContentOrigin): Promise<PreparedVersion | null>;
  /**
   * Copies the latest content of a store that is not served. Returns null if the store has no content or already has a
   * copy.
   */
  preserve(datasetId: string, content: ContentReader): Promise<PreservedContent | null>;
  /**
   * Returns the latest content of a store: the served content, its copy, or the content of its files. Returns undefined
   * if none of these is available.
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
    const isCopied = head.copy !== null || pending.find(head.content_hash) !== undefined;
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
