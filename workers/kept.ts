import type { Calendars } from '#domain/calendars/calendar.js';
import { openMarket, type MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { openCalendars } from '#market/calendar-files.js';

/** Store versions a thread keeps open: the served one and the one that jobs begun before a refresh still work on. */
const MARKETS_MAX = 2;

const markets = new Map<string, MarketData>();
let calendars: Calendars | undefined;

/**
 * The market of a handle, opened once per thread and version: what is derived from it (alignments, growth factors)
 * is kept with it and shared by every task of the thread.
 */
export function keptMarket(handle: MarketHandle): MarketData {
  const key = `${handle.storeId} ${handle.adjustment} ${handle.contentHash}`;
  const market = markets.get(key) ?? openMarket(handle);
  markets.delete(key);
  markets.set(key, market);
  if (markets.size > MARKETS_MAX) markets.delete(markets.keys().next().value!);
  return market;
}

/** The calendars of the service, opened once per thread. */
export function keptCalendars(): Calendars {
  return (calendars ??= openCalendars());
}
