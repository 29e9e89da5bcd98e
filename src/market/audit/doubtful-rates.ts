import type { MarketContent } from '../content/market-content.js';
import { findRatesNotAboveZero } from '../content/rates-not-above-zero.js';
import type { DataWarning } from './data-warning.js';

/** Finds exchange rates of 0 or less. */
export function findDoubtfulRates({ series }: MarketContent): DataWarning[] {
  return findRatesNotAboveZero(series ?? new Map()).map(({ identifier, first: { date, value }, count }) => ({
    id: `exchange_rate ${identifier} ${date}`,
    kind: 'exchange_rate',
    identifier,
    date,
    confidence: 1,
    message: `The exchange rate is ${value}; computations that need it are refused.`,
    evidence: { value, days: count },
    repair: null,
  }));
}
