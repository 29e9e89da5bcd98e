/** What the trade of a name costs and how long it takes. */
export interface TradeTerms {
  /** In the currency of the account. */
  readonly price: number;
  /** Mean daily volume in shares, null where none is known: no impact is counted then. */
  readonly adv: number | null;
  readonly spreadBps: number;
  readonly impactBps: number;
}

/**
 * Half the spread, and an impact that grows with the square root of the share of a day's volume: both of the value
 * traded.
 */
export function costOf({ price, adv, spreadBps, impactBps }: TradeTerms, shares: number): number {
  if (shares === 0) return 0;
  const impact = adv === null ? 0 : impactBps * Math.sqrt(shares / adv);
  return (shares * price * (spreadBps / 2 + impact)) / 10_000;
}
