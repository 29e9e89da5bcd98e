import type { MarketContent } from '#market/content/market-content.js';
import type { SyntheticSpec } from '#market/synthetic/factors.js';
import { generateMarket } from '#market/synthetic/generate-market.js';

type SpecChanges = Pick<SyntheticSpec, 'assets' | 'sessions'> & Partial<SyntheticSpec>;

/** Returns the specification of a market in dollars in New York. Default: no dividends, splits, listings or gaps. */
export const createSpec = (changes: SpecChanges): SyntheticSpec => ({
  seed: 3,
  exchange: 'XNYS',
  currency: 'USD',
  sectors: 2,
  market_return: 0.07,
  market_volatility: 0.16,
  specific_volatility: 0.25,
  dividend_yield: 0,
  splits_per_year: 0,
  delistings_per_year: 0,
  listings_per_year: 0,
  missing_rate: 0,
  ...changes,
});

export const generateTestMarket = (changes: SpecChanges): MarketContent =>
  generateMarket(createSpec(changes), () => {});
