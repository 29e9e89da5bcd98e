/** Inputs of the cost and duration of a trade. */
export interface TradeTerms {
  /** Price in the currency of the account. */
  readonly price: number;
  /** Mean daily volume in shares. Null if it is unknown; the impact is then zero. */
  readonly adv: number | null;
  readonly spreadBps: number;
  readonly impactBps: number;
}

/**
 * Returns the cost of a trade: half the spread plus the impact, both as fractions of the traded value. The impact grows
 * with the square root of the traded fraction of a day's volume.
 */
export function computeTradeCost({ price, adv, spreadBps, impactBps }: TradeTerms, shares: number): number {
  if (shares === 0) return 0;
  const impact = adv === null ? 0 : impactBps * Math.sqrt(shares / adv);
  return (shares * price * (spreadBps / 2 + impact)) / 10_000;
}
