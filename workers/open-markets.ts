import { openMarket, type MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';

/** Versions of stores that a thread keeps open: the served one, and the one before it while work on it ends. */
const OPEN_MAX = 2;

const open = new Map<string, MarketData>();

/**
 * The market of a handle, opened once in this thread: what is derived from it (alignments, growth factors) is kept with it.
 * @cost of `openMarket` at the first use
 */
export function openedMarket(handle: MarketHandle): MarketData {
  const key = `${handle.storeId} ${handle.adjustment} ${handle.contentHash}`;
  const market = open.get(key) ?? openMarket(handle);
  open.delete(key);
  open.set(key, market);
  if (open.size > OPEN_MAX) open.delete(open.keys().next().value!);
  return market;
}
