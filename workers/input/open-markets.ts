import { openMarket, openMarketSince, openWithoutActions, type MarketHandle } from '#domain/market/handle.js';
import { createMarketKey } from '#domain/market/market-identity.js';
import type { MarketData } from '#domain/market/market-data.js';
import { reportPanelMemory } from '#market/panels/gc-pressure.js';

/**
 * Maximum number of open store versions per thread. They are the served version, and its predecessor while work on it
 * ends.
 */
const OPEN_MARKETS_MAX = 2;

const openMarketsByKey = new Map<string, MarketData>();

/**
 * Returns the market of a handle, which each thread opens once. Data derived from the market (alignments, growth
 * factors) is cached with it.
 * @cost of `openMarket` at the first use
 */
export function openCachedMarket(handle: MarketHandle): MarketData {
  const market = openMarketsByKey.get(createMarketKey(handle)) ?? openMarket(handle);
  keepOpen(market);
  return market;
}

/**
 * Maximum number of start days for which a thread keeps the latest market open. The runs of a store end on few days.
 */
const START_DAYS_MAX = 4;

/** Latest market with its variants, by day. A variant does not contain the data that was final before the day. */
let latestMarket:
  | { readonly key: string; readonly opened: MarketData; readonly byDay: Map<number, MarketData> }
  | undefined;

/**
 * Opens a market like `openMarketSince`. The tables are parsed once for all runs that are extended on a market, and
 * derived data is cached per start day.
 */
export function openCachedSince(handle: MarketHandle, after: number): MarketData {
  const key = createMarketKey(handle);
  if (latestMarket?.key !== key) latestMarket = { key, opened: openWithoutActions(handle), byDay: new Map() };
  const { opened, byDay } = latestMarket;
  const market = byDay.get(after) ?? openMarketSince(handle, after, opened);
  byDay.delete(after);
  byDay.set(after, market);
  if (byDay.size > START_DAYS_MAX) byDay.delete(byDay.keys().next().value!);
  return market;
}

/** Keeps a market open that this thread created. Later work may use it. */
export function keepOpen(market: MarketData): void {
  openMarketsByKey.delete(createMarketKey(market));
  openMarketsByKey.set(createMarketKey(market), market);
  if (openMarketsByKey.size > OPEN_MARKETS_MAX) openMarketsByKey.delete(openMarketsByKey.keys().next().value!);
  reportPanelMemory([...market.fields.values()].map(({ buffer }) => buffer));
}
