import type { CommitEvents } from '#domain/documents/commit-events.js';
import type { DataCopy } from '#domain/documents/data-version-document.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { isCopyDue, type ContentCopies } from './content-copies.js';
import { readHistory, recordCopy } from '../stored/data-history.js';

export interface PendingCopiesDependencies {
  readonly documents: Pick<DocumentStore, 'get' | 'transaction'>;
  readonly artifacts: Pick<ArtifactStore, 'remove'>;
  readonly markets: Pick<ServedMarkets, 'find'>;
  readonly copies: Pick<ContentCopies, 'of'>;
  /** Maximum time in ms that `close` waits for copies. */
  readonly copyWaitMs: number;
  /** Receives the reason if a copy cannot be made. The next read of the content tries again. */
  readonly onFailure: (cause: unknown) => void;
}

/** Copies of served contents. They are made in the background by a thread, one at a time. */
export interface PendingCopies {
  /** Announces that a content will be served and that other programs can change its source. */
  expect(contentHash: string): void;
  /** Copies an expected content that is served now, or is the content of a store that is not active. */
  onContent(event: CommitEvents['market-activated'] | CommitEvents['store-content']): void;
  /** Adds a content that is already served. */
  add(market: ServedMarket): void;
  /** Returns a content that waits for its copy, or is being copied. */
  find(contentHash: string): ServedMarket | undefined;
  /** Resolves when all waiting copies are complete. Stops copies that take longer than `copyWaitMs`. */
  close(): Promise<void>;
}

/** Maximum number of waiting copies. If there are more, the oldest is dropped until its content is served again. */
const WAITING_MAX = 4;

/** Maximum number of expected contents. Several loads can run before one content is served. */
const EXPECTED_MAX = 16;

export function createPendingCopies(dependencies: PendingCopiesDependencies): PendingCopies {
  const { documents, artifacts, markets, copies, copyWaitMs, onFailure } = dependencies;
  const expectedHashes = new Set<string>();
  const queue: ServedMarket[] = [];
  const closing = new AbortController();
  let currentMarket: ServedMarket | undefined;
  let queueEnd: Promise<void> = Promise.resolve();

  function add(market: ServedMarket): void {
    const { datasetId } = market.identity;
    // only the latest content of a store is copied
    const earlierPosition = queue.findIndex(({ identity }) => identity.datasetId === datasetId);
    if (earlierPosition >= 0) queue.splice(earlierPosition, 1);
    queue.push(market);
    if (queue.length > WAITING_MAX) queue.shift();
    if (currentMarket === undefined) queueEnd = copyQueue();
  }

  async function copyQueue(): Promise<void> {
    while ((currentMarket = queue.shift()) !== undefined) {
      try {
        await copy(currentMarket);
      } catch (cause) {
        if (!closing.signal.aborted) onFailure(cause);
      }
    }
  }

  async function copy(market: ServedMarket): Promise<void> {
    const { datasetId, contentHash } = market.identity;
    const head = await readHistory(documents, datasetId);
    if (head?.content_hash !== contentHash || !isCopyDue(head.copy)) return;
    const result: DataCopy | null = closing.signal.aborted ? null : await copies.of(market, closing.signal);
    if (result === null) return;
    const isRecorded = await documents.transaction((tx) => recordCopy(tx, { datasetId, contentHash, copy: result }));
    if (!isRecorded) await artifacts.remove([result.content.name]);
  }

  return {
    expect(contentHash) {
      expectedHashes.add(contentHash);
      if (expectedHashes.size > EXPECTED_MAX) expectedHashes.delete(expectedHashes.values().next().value!);
    },
    onContent({ market }) {
      const content = markets.find(market);
      if (content !== undefined && expectedHashes.delete(market.contentHash)) add(content);
    },
    add,
    find: (contentHash) => [currentMarket, ...queue].find((market) => market?.identity.contentHash === contentHash),
    async close() {
      const stopTimer = setTimeout(() => closing.abort(), copyWaitMs);
      await queueEnd;
      clearTimeout(stopTimer);
    },
  };
}
