import { createHash } from 'node:crypto';
import type { SeparatePrices } from '#domain/backtest/run-file/separate-prices.js';
import { createMarketKey, type MarketIdentity } from '#domain/market/market-identity.js';

/** Maximum number of remembered price files. */
const REMEMBERED_PRICES_MAX = 64;

/** SHA-256 of the prices that this thread has written or hashed, by a key that identifies the prices. */
const hashes = new Map<string, string>();

/** Returns the key of a run's prices on a market. Equal keys mean equal files. */
export function formatPricesKey(market: MarketIdentity, { identifiers, days, adjustedBy }: SeparatePrices): string {
  const key = JSON.stringify([createMarketKey(market), identifiers, ...(adjustedBy === '' ? [] : [adjustedBy])]);
  return createHash('sha256').update(key).update(days).digest('hex');
}

/** Returns the SHA-256 of prices that this thread has written or hashed. Returns undefined for other prices. */
export function getPricesHash(key: string): string | undefined {
  return hashes.get(key);
}

export function rememberPrices(key: string, sha256: string): void {
  hashes.delete(key);
  hashes.set(key, sha256);
  for (const oldest of hashes.keys()) if (hashes.size > REMEMBERED_PRICES_MAX) hashes.delete(oldest);
}
