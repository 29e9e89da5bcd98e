import type { MarketHandle, MarketIdentity } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { KnownFile } from '../sources/known-files.js';

/** The store being served, as one immutable version: a request that holds it never sees another. */
export interface ServedMarket {
  readonly handle: MarketHandle;
  /** Identity of the market, in events and in the input of tasks. */
  readonly identity: MarketIdentity;
  /** The data opened in this thread, for look-ups. */
  readonly market: MarketData;
  readonly loadedAt: string;
  /** Files of its source as they were when all of them was read; a refresh need not read those again. */
  readonly files: readonly KnownFile[];
}

export interface Markets {
  /** The served version, undefined when none is served yet or any more. */
  served(): ServedMarket | undefined;
  /**
   * The served version, undefined when no store is active: for responses that contain less without a market.
   * @throws Refusal STORE_UNAVAILABLE while the store of before a restart is being read
   */
  current(): ServedMarket | undefined;
  /**
   * The served version.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE while the store of before a restart is being read
   */
  require(): ServedMarket;
  /**
   * Resolves once the store served before a restart has been read again, or could not be: work queued before the
   * restart waits for it, so that it does not fail while data is being read.
   */
  settled(): Promise<void>;
}
