import type { MarketHandle, MarketIdentity } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { KnownFile } from '../sources/known-files.js';

/** The store being served, as one immutable version: a request that holds it never sees another. */
export interface ServedMarket {
  readonly handle: MarketHandle;
  /** Identity of the market, in events and in the input of tasks. */
  readonly identity: MarketIdentity;
  /** The same data opened in this thread, for look-ups. */
  readonly market: MarketData;
  readonly loadedAt: string;
  /** Files of its source as they were when all of them was read; a refresh need not read those again. */
  readonly files: readonly KnownFile[];
}

export interface Markets {
  /** The served version, undefined when none is served yet or any more. */
  served(): ServedMarket | undefined;
  /**
   * The served version, undefined when no store is active: for answers that tell less without one.
   * @throws Refusal STORE_UNAVAILABLE while the store of before a restart is being read
   */
  current(): ServedMarket | undefined;
  /**
   * The served version.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE while the store of before a restart is being read
   */
  require(): ServedMarket;
  /**
   * Resolves once the store that was served before a restart has been read again, or could not be: work that was queued
   * before the restart waits for it, so that it does not fail for want of data that is on its way.
   */
  settled(): Promise<void>;
}
