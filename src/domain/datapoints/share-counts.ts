import type { SessionMarket } from '../market/session-market.js';
import { hasSharesField } from './resolution.js';
import { createSeriesTable, type Series } from './series.js';

export interface ShareCountTerms {
  readonly counted: 'all' | 'float';
  /** Maximum age of a FREE_FLOAT in sessions. */
  readonly maxStaleSessions: number;
}

/**
 * Returns the share counts from which the market values of a market are computed. Returns null without
 * SHARES_OUTSTANDING.
 */
export function createShareCounts(sm: SessionMarket, { counted, maxStaleSessions }: ShareCountTerms): Series | null {
  if (!hasSharesField(sm.market)) return null;
  const table = createSeriesTable(sm, {
    requireRates: () => {},
    exchange: null,
    growth: refuseGrowth,
    gaps: refuseGrowth,
    price: { growth: refuseGrowth, gaps: refuseGrowth },
    valuation: refuseGrowth,
    followed: null,
    maxStaleSessions,
    datapoints: new Map(),
  });
  const { fields, reference } = sm.market;
  return table.shares(counted === 'float' && (fields.has('FREE_FLOAT') || reference.columns.includes('FREE_FLOAT')));
}

function refuseGrowth(): never {
  throw new Error('share counts need no growth');
}
