import { setImmediate } from 'node:timers/promises';
import { openMarketGently, reopenMarket, type MarketHandle } from '#domain/market/handle.js';
import { storeLoading } from '#domain/market/store-loading.js';
import { Refusal } from '#domain/refusal.js';
import type { KnownFile } from '../sources/known-files.js';
import { lookupOf } from './market-lookup.js';
import type { Markets, ServedMarket } from './markets.js';
import { weighPanels } from '../process/gc-pressure.js';

/** The one place that knows which market is served: a reference that is replaced in one assignment. */
export interface ServedMarkets extends Markets {
  /** Serves a market from now on, or none. */
  serve(served: ServedMarket | undefined): void;
  /** Announces the store of before a restart: until it is served or `settle` is called, no answer says that there is no data. */
  expect(storeId: string): void;
  /** Id of that store until then. */
  awaited(): string | undefined;
  /** Tells that the first load is over, however it went. */
  settle(): void;
}

/** @param onServe told when another market is served */
export function createServedMarkets(onServe: () => void = () => {}): ServedMarkets {
  let current: ServedMarket | undefined;
  let expected: string | undefined;
  let settle = () => {};
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const awaited = (): string | undefined => (current === undefined ? expected : undefined);

  function servedOrNone(): ServedMarket | undefined {
    const coming = awaited();
    if (coming !== undefined) throw storeLoading(coming);
    return current;
  }

  return {
    served: () => current,
    current: servedOrNone,
    require() {
      const served = servedOrNone();
      if (served === undefined)
        throw new Refusal('NO_DATA_SOURCE', 'No data store is being served; activate one first.');
      return served;
    },
    awaited,
    settled: () => settled,
    expect(storeId) {
      expected = storeId;
    },
    serve(served) {
      current = served;
      onServe();
    },
    settle() {
      expected = undefined;
      settle();
    },
  };
}

/** A loaded market ready to be served, with its lookup; those who ask for the one served meanwhile do not wait for it. */
export async function servedMarket(
  handle: MarketHandle,
  loadedAt: string,
  files: readonly KnownFile[] = [],
): Promise<ServedMarket> {
  weighPanels(handle.fields.map(({ values }) => values));
  const market = await openMarketGently(handle, setImmediate);
  lookupOf(market);
  return { handle, market, loadedAt, files };
}

/** A later version of a market with the same identifiers and tables, ready to be served. */
export function servedAgain(
  handle: MarketHandle,
  { handle: { tables }, market: held }: ServedMarket,
  loadedAt: string,
  files: readonly KnownFile[],
): ServedMarket {
  weighPanels(handle.fields.map(({ values }) => values));
  const market = reopenMarket(handle, held);
  lookupOf(market);
  return { handle: { ...handle, tables }, market, loadedAt, files };
}
