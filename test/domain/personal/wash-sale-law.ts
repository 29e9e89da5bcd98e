/** One share, for a computation of wash sales share by share. */
export interface Share {
  readonly identifier: string;
  readonly purchase: number;
  readonly bought: number;
  cost: number;
  /** Day before the holding period begins. */
  acquired: number;
  hasReplaced: boolean;
}

export interface Sale {
  readonly shares: readonly Share[];
  readonly day: number;
  readonly prices: Readonly<Record<string, number>>;
}

/** Number of days before a sale on which a purchase replaces the shares sold. */
const WINDOW = 30;

/**
 * Sells shares out of those held and returns the gain of each. A loss is disallowed if a share of another purchase,
 * bought in the 30 days before, is kept and has replaced no other. Shares sold and shares that replace them are taken
 * in the order of purchase. The share that replaces takes the loss and the holding period over.
 * @param held  shares before the sale, in any order; those that replace others are changed
 */
export function sellShares(
  held: readonly Share[],
  { shares, day, prices }: Sale,
  areAlike: (a: string, b: string) => boolean,
): ReadonlyMap<Share, number> {
  const byPurchase = (a: Share, b: Share): number => a.bought - b.bought || a.purchase - b.purchase;
  const kept = held.filter((share) => !shares.includes(share)).toSorted(byPurchase);
  const gains = new Map<Share, number>();
  for (const share of shares.toSorted(byPurchase)) {
    const gain = prices[share.identifier]! - share.cost;
    const other = kept.find(
      (own) =>
        !own.hasReplaced &&
        own.purchase !== share.purchase &&
        day - own.bought <= WINDOW &&
        areAlike(own.identifier, share.identifier),
    );
    if (gain >= 0 || other === undefined) {
      gains.set(share, gain);
      continue;
    }
    other.cost -= gain;
    other.acquired -= day - share.acquired;
    other.hasReplaced = true;
    gains.set(share, 0);
  }
  return gains;
}
