import type { MarketData } from '#domain/market/market-data.js';

export interface CoverageHistory {
  /** Number of securities with a price on each date, [T]. */
  readonly priced: Int32Array;
  /**
   * Number of securities that should have a price on each date, [T]. A security should have one from its first to its
   * last price.
   */
  readonly expected: Int32Array;
}

/**
 * Counts the securities with a price on each date of a market, and the securities expected to have one.
 * @cost two reads of the panel CLOSE
 */
export function countCoverage({
  dates,
  identifiers,
  fields,
}: Pick<MarketData, 'dates' | 'identifiers' | 'fields'>): CoverageHistory {
  const closes = fields.get('CLOSE')!; // every market has this field
  const n = identifiers.length;
  const first = new Int32Array(n).fill(-1);
  const last = new Int32Array(n).fill(-1);
  const pricedCounts = new Int32Array(dates.length);
  for (let t = 0, cell = 0; t < dates.length; t++)
    for (let i = 0; i < n; i++, cell++) {
      if (Number.isNaN(closes[cell]!)) continue;
      pricedCounts[t]!++;
      if (first[i] === -1) first[i] = t;
      last[i] = t;
    }
  const expectedCounts = new Int32Array(dates.length);
  for (let i = 0; i < n; i++) {
    if (first[i] === -1) continue;
    expectedCounts[first[i]!]!++;
    if (last[i]! + 1 < dates.length) expectedCounts[last[i]! + 1]!--;
  }
  for (let t = 1; t < dates.length; t++) expectedCounts[t]! += expectedCounts[t - 1]!;
  return { priced: pricedCounts, expected: expectedCounts };
}
