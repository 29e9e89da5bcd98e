import type { SyntheticSpec } from '#market/synthetic/spec.js';

/** The synthetic market of benchmarks: 500 names in eight sectors, whose splits and delistings are seeded. */
export function benchMarket({
  sessions,
  listingsPerYear,
}: {
  readonly sessions: SyntheticSpec['sessions'];
  readonly listingsPerYear: number;
}): SyntheticSpec {
  return {
    seed: 42,
    assets: 500,
    sessions,
    exchange: 'XNYS',
    currency: 'USD',
    sectors: 8,
    market_return: 0.07,
    market_volatility: 0.16,
    specific_volatility: 0.25,
    dividend_yield: 0.02,
    splits_per_year: 0.03,
    delistings_per_year: 0.01,
    listings_per_year: listingsPerYear,
    missing_rate: 0,
  };
}
