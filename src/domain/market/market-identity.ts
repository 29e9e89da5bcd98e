import type { MarketHandle } from './handle.js';

/** Identity of a market: its content, and the declarations of its store. */
export type MarketIdentity = Pick<MarketHandle, 'datasetId' | 'adjustment' | 'currency' | 'contentHash'>;

/** Returns an identity as a key, equal for markets that give equal results. */
export function createMarketKey({ datasetId, adjustment, currency = null, contentHash }: MarketIdentity): string {
  return JSON.stringify([datasetId, adjustment, currency, contentHash]);
}

/** Returns only the identity of a market. */
export function createIdentity({
  datasetId,
  adjustment,
  currency = null,
  contentHash,
}: MarketIdentity): MarketIdentity {
  return { datasetId, adjustment, currency, contentHash };
}
