import type { Calendars } from '#domain/calendars/calendar.js';
import type { MarketData } from '#domain/market/market-data.js';
import { generateTestMarket } from '../../../synthetic-market.js';

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
    ...generateTestMarket({
      seed: 5,
      assets: 16,
      sessions,
      sectors: 4,
      dividend_yield: 0.03,
      splits_per_year: 0.2,
      missing_rate: 0.002,
    }),
  };
  return { market, sessions };
}
