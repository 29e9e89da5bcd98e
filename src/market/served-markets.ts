import { openMarket, type MarketHandle } from '#domain/market/handle.js';
import { Refusal } from '#domain/refusal.js';
import type { Markets, ServedMarket } from './markets.js';

/** The one place that knows which market is served: a reference that is replaced in one assignment. */
export interface ServedMarkets extends Markets {
  /** Serves a market from now on, or none. */
  serve(served: ServedMarket | undefined): void;
  /** Tells that the first load is over, however it went. */
  settle(): void;
}

export function createServedMarkets(): ServedMarkets {
  let current: ServedMarket | undefined;
  let settle = () => {};
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return {
    served: () => current,
    require() {
      if (current === undefined) throw new Refusal('NO_DATA_SOURCE', 'No data store is being served; activate one first.');
      return current;
    },
    settled: () => settled,
    serve(served) {
      current = served;
    },
    settle: () => settle(),
  };
}

/** A loaded market ready to be served. @cost of `openMarket` */
export function servedMarket(handle: MarketHandle, loadedAt: string): ServedMarket {
  return { handle, market: openMarket(handle), loadedAt };
}
