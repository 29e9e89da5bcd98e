import { createHash } from 'node:crypto';
import type { PricesApart } from '#domain/backtest/run-file/prices-apart.js';
import { marketKey, type MarketIdentity } from '#domain/market/handle.js';

/** Files of prices that a thread remembers. */
const REMEMBERED_MAX = 64;

/** SHA-256 of the files of prices that this thread has written, by what says which prices they are. */
const hashes = new Map<string, string>();

/** Says which prices those of a run on a market are: the same key, the same file. */
export function pricesKey(market: MarketIdentity, { identifiers, days }: PricesApart): string {
  const asked = JSON.stringify([marketKey(market), identifiers]);
  return createHash('sha256').update(asked).update(days).digest('hex');
}

/** SHA-256 of prices that this thread has written once. */
export function hashOfPrices(key: string): string | undefined {
  return hashes.get(key);
}

export function rememberPrices(key: string, sha256: string): void {
  hashes.delete(key);
  hashes.set(key, sha256);
  for (const oldest of hashes.keys()) if (hashes.size > REMEMBERED_MAX) hashes.delete(oldest);
}
