import {
  marketKey,
  openMarket,
  openMarketSince,
  openWithoutActions,
  type MarketHandle,
} from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { reportPanelMemory } from '#market/panels/gc-pressure.js';

/** Versions of stores that a thread keeps open: the served one, and the one before it while work on it ends. */
const OPEN_MAX = 2;

const open = new Map<string, MarketData>();

/**
 * The market of a handle, opened once in this thread: what is derived from it (alignments, growth factors) is kept with
 * it.
 * @cost of `openMarket` at the first use
 */
export function openedMarket(handle: MarketHandle): MarketData {
  const market = open.get(marketKey(handle)) ?? openMarket(handle);
  keepOpen(market);
  return market;
}

/** Days from which on a thread keeps the latest market open: the runs of a store end on few days. */
const SINCE_MAX = 4;

/** The latest market that was opened without what it settled before a day, by those days. */
let since: { readonly key: string; readonly opened: MarketData; readonly byDay: Map<number, MarketData> } | undefined;

/**
 * As `openMarketSince`: the tables are parsed once for all runs that are extended on a market, and what is derived from it
 * is kept for those that are since the same day.
 */
export function openedSince(handle: MarketHandle, after: number): MarketData {
  const key = marketKey(handle);
  if (since?.key !== key) since = { key, opened: openWithoutActions(handle), byDay: new Map() };
  const { opened, byDay } = since;
  const market = byDay.get(after) ?? openMarketSince(handle, after, opened);
  byDay.delete(after);
  byDay.set(after, market);
  if (byDay.size > SINCE_MAX) byDay.delete(byDay.keys().next().value!);
  return market;
}

/** Keeps a market that this thread has made, for work on it to come. */
export function keepOpen(market: MarketData): void {
  open.delete(marketKey(market));
  open.set(marketKey(market), market);
  if (open.size > OPEN_MAX) open.delete(open.keys().next().value!);
  reportPanelMemory([...market.fields.values()].map(({ buffer }) => buffer));
}
