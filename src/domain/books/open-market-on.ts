import type { Calendars } from '../calendars/calendar.js';
import type { MarketData } from '../market/market-data.js';
import { alignMarket, type SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';

/** Aligned markets by calendar. All indices of a calendar share one alignment. */
const alignedMarkets = new WeakMap<MarketData, WeakMap<Calendars, Map<string, SessionMarket>>>();

/**
 * Returns the market aligned to the sessions of a calendar. Calls with the same objects `market` and `calendars` share
 * one alignment.
 * @throws Refusal VALIDATION_FAILED if the calendar does not exist
 */
export function openMarketOn({
  market,
  calendars,
  code,
}: {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly code: string;
}): SessionMarket {
  let bySet = alignedMarkets.get(market);
  if (!bySet) alignedMarkets.set(market, (bySet = new WeakMap()));
  let byCode = bySet.get(calendars);
  if (!byCode) bySet.set(calendars, (byCode = new Map()));
  let sm = byCode.get(code);
  if (!sm) {
    const calendar = calendars.get(code);
    if (!calendar) throw new Refusal('VALIDATION_FAILED', `The calendar ${code} is not known.`);
    byCode.set(code, (sm = alignMarket({ market, calendar, calendars })));
  }
  return sm;
}
