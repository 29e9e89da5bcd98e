import { marketKey, openMarket, type MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { reportPanelMemory } from '#market/process/gc-pressure.js';

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

/** Keeps a market that this thread has made, for work on it to come. */
export function keepOpen(market: MarketData): void {
  open.delete(marketKey(market));
  open.set(marketKey(market), market);
  if (open.size > OPEN_MAX) open.delete(open.keys().next().value!);
  reportPanelMemory([...market.fields.values()].map(({ buffer }) => buffer));
}
