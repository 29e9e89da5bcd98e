import { createMarketKey, type MarketIdentity } from '#domain/market/market-identity.js';
import type { ServedMarket } from './markets.js';

/**
 * Markets of this process by identity. A content remains in memory as long as the identity with which it was added is
 * referenced: by a pending event, the input of a task, or the served market. No explicit release is needed.
 */
export interface MarketContents {
  add(market: ServedMarket): void;
  /** Returns the content of the same or an equal identity. Returns undefined if this process does not have it. */
  find(identity: MarketIdentity): ServedMarket | undefined;
}

export function createMarketContents(): MarketContents {
  const contents = new WeakMap<MarketIdentity, ServedMarket>();
  const identities = new Map<string, WeakRef<MarketIdentity>>();

  const findEqual = (identity: MarketIdentity): MarketIdentity | undefined =>
    identities.get(createMarketKey(identity))?.deref();

  return {
    add(market) {
      for (const [key, identity] of identities) if (identity.deref() === undefined) identities.delete(key);
      contents.set(market.identity, market);
      identities.set(createMarketKey(market.identity), new WeakRef(market.identity));
    },
    find(identity) {
      const ownServedMarket = contents.get(identity);
      if (ownServedMarket !== undefined) return ownServedMarket;
      const equalIdentity = findEqual(identity);
      return equalIdentity && contents.get(equalIdentity);
    },
  };
}
