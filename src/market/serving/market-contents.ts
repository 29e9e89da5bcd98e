import { createMarketKey, type MarketIdentity } from '#domain/market/market-identity.js';
import type { ServedMarket } from './markets.js';

/**
 * Markets of this process by identity. A content remains while something references the identity with which it was
 * added: a pending event, the input of a task, the served market. No release is needed.
 */
export interface MarketContents {
  add(market: ServedMarket): void;
  /**
   * Returns the content of an identity, whether that object or an equal one; undefined if this process does not have
   * it.
   */
  find(identity: MarketIdentity): ServedMarket | undefined;
}

export function createMarketContents(): MarketContents {
  const contents = new WeakMap<MarketIdentity, ServedMarket>();
  const identities = new Map<string, WeakRef<MarketIdentity>>();

  const equalOf = (identity: MarketIdentity): MarketIdentity | undefined =>
    identities.get(createMarketKey(identity))?.deref();

  return {
    add(market) {
      for (const [key, identity] of identities) if (identity.deref() === undefined) identities.delete(key);
      contents.set(market.identity, market);
      identities.set(createMarketKey(market.identity), new WeakRef(market.identity));
    },
    find(identity) {
      const own = contents.get(identity);
      if (own !== undefined) return own;
      const equal = equalOf(identity);
      return equal && contents.get(equal);
    },
  };
}
