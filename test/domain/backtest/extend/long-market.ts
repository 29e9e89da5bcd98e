import type { Calendars } from '#domain/calendars/calendar.js';
import type { MarketData } from '#domain/market/market-data.js';
import { generateMarket } from '#market/synthetic/generate-market.js';

/** Returns a market of sixteen securities over three years. */
export function createLongMarket(calendars: Calendars) {
  const sessions = calendars
    .get('XNYS')!
    .sessions.filter((day) => day > 15_000)
    .slice(0, 780);
  const market: MarketData = {
    datasetId: 'test',
    contentHash: 'long',
    adjustment: 'none',
    ...generateMarket(
      {
        seed: 5,
        assets: 16,
        sessions,
        exchange: 'XNYS',
        currency: 'USD',
        sectors: 4,
        market_return: 0.07,
        market_volatility: 0.16,
        specific_volatility: 0.25,
        dividend_yield: 0.03,
        splits_per_year: 0.2,
        delistings_per_year: 0,
        listings_per_year: 0,
        missing_rate: 0.002,
      },
      () => {},
    ),
  };
  return { market, sessions };
}
