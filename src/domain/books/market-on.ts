import type { Calendars } from '../calendars/calendar.js';
import type { MarketData } from '../market/market-data.js';
import { alignMarket, type SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';

/** Aligned markets by calendar: one alignment serves every index of the calendar. */
const aligned = new WeakMap<MarketData, Map<string, SessionMarket>>();

/**
 * Returns the market on the sessions of a calendar, aligned once.
 * @throws Refusal VALIDATION_FAILED if the calendar does not exist
 */
export function marketOn({
  market,
  calendars,
  code,
}: {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly code: string;
}): SessionMarket {
  let byCalendar = aligned.get(market);
  if (!byCalendar) aligned.set(market, (byCalendar = new Map()));
  let sm = byCalendar.get(code);
  if (!sm) {
    const calendar = calendars.get(code);
    if (!calendar) throw new Refusal('VALIDATION_FAILED', `The calendar ${code} is not known.`);
    byCalendar.set(code, (sm = alignMarket({ market, calendar, calendars })));
  }
  return sm;
}
