import type { MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';

/** The store being served, as one immutable version: a request that holds it never sees another. */
export interface ServedMarket {
  readonly handle: MarketHandle;
  /** The same data opened in this thread, for look-ups. */
  readonly market: MarketData;
  readonly loadedAt: string;
}

export interface Markets {
  /** The served version, undefined when no store is active. */
  served(): ServedMarket | undefined;
  /** The served version. @throws Refusal NO_DATA_SOURCE */
  require(): ServedMarket;
}
