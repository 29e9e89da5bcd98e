import type { MarketHandle } from '#domain/market/handle.js';
import type { MarketIdentity } from '#domain/market/market-identity.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { VersionFile } from '../sources/known-files.js';

/** Version of the served store. It never changes: a request that has a reference to it always sees this version. */
export interface ServedMarket {
  readonly handle: MarketHandle;
  /** Identity of the market, in events and in the input of tasks. */
  readonly identity: MarketIdentity;
  /** Data opened in this thread, for lookups. */
  readonly market: MarketData;
  readonly loadedAt: string;
  /** Source files with their state when all of them were read. A refresh need not read unchanged files again. */
  readonly files: readonly VersionFile[];
}

export interface Markets {
  /** Returns the served version; undefined if none is served. */
  served(): ServedMarket | undefined;
  /**
   * Returns the served version. Returns undefined if no store is active; a response then contains less data.
   * @throws Refusal STORE_UNAVAILABLE while the store is being read after a restart
   */
  current(): ServedMarket | undefined;
  /**
   * Returns the served version.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE while the store is being read after a restart
   */
  require(): ServedMarket;
  /**
   * Resolves when the reading of the store after a restart has succeeded or failed. Work that was queued before the
   * restart waits for it, so that the work does not fail while data is being read.
   */
  settled(): Promise<void>;
}
