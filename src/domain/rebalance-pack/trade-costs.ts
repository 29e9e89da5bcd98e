/** Terms of the cost and duration of a trade. */
export interface TradeTerms {
  /** Price in the currency of the account. */
  readonly price: number;
  /** Mean daily volume in shares, null if unknown: there is then no impact. */
  readonly adv: number | null;
  readonly spreadBps: number;
  readonly impactBps: number;
}

/**
 * Returns half the spread, plus an impact that grows with the square root of the share of a day's volume: both of the
 * traded value.
 */
export function costOf({ price, adv, spreadBps, impactBps }: TradeTerms, shares: number): number {
  if (shares === 0) return 0;
  const impact = adv === null ? 0 : impactBps * Math.sqrt(shares / adv);
  return (shares * price * (spreadBps / 2 + impact)) / 10_000;
}
