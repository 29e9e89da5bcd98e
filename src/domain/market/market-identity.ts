import type { MarketHandle } from './handle.js';

/** Identity of a market: its content, and its store's declarations. */
export type MarketIdentity = Pick<MarketHandle, 'datasetId' | 'adjustment' | 'currency' | 'contentHash'>;

/** Returns an identity as a key: equal for markets with equal results. */
export function createMarketKey({ datasetId, adjustment, currency = null, contentHash }: MarketIdentity): string {
  return JSON.stringify([datasetId, adjustment, currency, contentHash]);
}

/** Returns the identity of a market without its content. */
export function createIdentity({
  datasetId,
  adjustment,
  currency = null,
  contentHash,
}: MarketIdentity): MarketIdentity {
  return { datasetId, adjustment, currency, contentHash };
}
