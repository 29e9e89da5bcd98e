import { marketKey, type MarketIdentity } from '#domain/market/handle.js';
import type { ServedMarket } from './markets.js';

/**
 * The markets of this process by their identity. A content stays as long as something references the identity with
 * which it was added: a pending event, the input of a task, the served market itself. No release is needed.
 */
export interface MarketContents {
  add(market: ServedMarket): void;
  /** The content of an identity, of that very object or of an equal one; undefined where this process has none. */
  find(identity: MarketIdentity): ServedMarket | undefined;
}

export function createMarketContents(): MarketContents {
  const contents = new WeakMap<MarketIdentity, ServedMarket>();
  const identities = new Map<string, WeakRef<MarketIdentity>>();

  const equalOf = (identity: MarketIdentity): MarketIdentity | undefined =>
    identities.get(marketKey(identity))?.deref();

  return {
    add(market) {
      for (const [key, identity] of identities) if (identity.deref() === undefined) identities.delete(key);
      contents.set(market.identity, market);
      identities.set(marketKey(market.identity), new WeakRef(market.identity));
    },
    find(identity) {
      const own = contents.get(identity);
      if (own !== undefined) return own;
      const equal = equalOf(identity);
      return equal && contents.get(equal);
    },
  };
}
