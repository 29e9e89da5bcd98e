import type { CommitEvents } from '#domain/documents/commit-events.js';
import type { DataCopy } from '#domain/documents/data-version-document.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { isCopyDue, type ContentCopies } from './content-copies.js';
import { historyOf, recordCopy } from '../stored/data-history.js';

export interface PendingCopiesDependencies {
  readonly documents: Pick<DocumentStore, 'get' | 'transaction'>;
  readonly artifacts: Pick<ArtifactStore, 'remove'>;
  readonly markets: Pick<ServedMarkets, 'served'>;
  readonly copies: Pick<ContentCopies, 'of'>;
  /** Receives why a copy could not be made; it is due again when its content is next read or served. */
  readonly onFailure: (cause: unknown) => void;
}

/** Copies of served contents, made behind the answers that serve them: one at a time, each in a thread. */
export interface PendingCopies {
  /** A content that is about to be served, and whose source others change. */
  expect(contentHash: string): void;
  /** An expected content is served from now on. */
  onActivated(event: CommitEvents['market-activated']): void;
  /** A content that is served already. */
  add(market: ServedMarket): void;
  isPending(contentHash: string): boolean;
  /** Resolves once the copies that are due were made, those that take longer than `STOP_MS` given up. */
  close(): Promise<void>;
}

/** Contents whose copies wait; of more, the oldest is left to the next time that it is served. */
const WAITING_MAX = 4;

/** Contents that are about to be served at once: loads follow each other. */
const EXPECTED_MAX = 16;

/** Longest wait of a stop for copies: half the grace period of a container. */
const STOP_MS = 5000;

export function createPendingCopies(dependencies: PendingCopiesDependencies): PendingCopies {
  const { documents, artifacts, markets, copies, onFailure } = dependencies;
  const expected = new Set<string>();
  const waiting: ServedMarket[] = [];
  const closing = new AbortController();
  let running: ServedMarket | undefined;
  let drained: Promise<void> = Promise.resolve();

  function add(market: ServedMarket): void {
    const { datasetId } = market.identity;
    // Of a store only the last content is copied.
    const earlier = waiting.findIndex(({ identity }) => identity.datasetId === datasetId);
    if (earlier >= 0) waiting.splice(earlier, 1);
    waiting.push(market);
    if (waiting.length > WAITING_MAX) waiting.shift();
    if (running === undefined) drained = drain();
  }

  async function drain(): Promise<void> {
    while ((running = waiting.shift()) !== undefined) {
      try {
        await copy(running);
      } catch (cause) {
        if (!closing.signal.aborted) onFailure(cause);
      }
    }
  }

  async function copy(market: ServedMarket): Promise<void> {
    const { datasetId, contentHash } = market.identity;
    const head = await historyOf(documents, datasetId);
    if (head?.content_hash !== contentHash || !isCopyDue(head.copy)) return;
    const result: DataCopy | null = closing.signal.aborted ? null : await copies.of(market, closing.signal);
    if (result === null) return;
    const isRecorded = await documents.transaction((tx) => recordCopy(tx, { datasetId, contentHash, copy: result }));
    if (!isRecorded) await artifacts.remove([result.content.name]);
  }

  return {
    expect(contentHash) {
      expected.add(contentHash);
      if (expected.size > EXPECTED_MAX) expected.delete(expected.values().next().value!);
    },
    onActivated({ market }) {
      const served = markets.served();
      if (served?.identity.contentHash === market.contentHash && expected.delete(market.contentHash)) add(served);
    },
    add,
    isPending: (contentHash) => [running, ...waiting].some((market) => market?.identity.contentHash === contentHash),
    async close() {
      const overdue = setTimeout(() => closing.abort(), STOP_MS);
      await drained;
      clearTimeout(overdue);
    },
  };
}
