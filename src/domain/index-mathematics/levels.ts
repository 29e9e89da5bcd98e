/**
 * Returns the growth by reinvested dividends after a session: `G[t] = G[t-1] (1 + DP[t] / PR[t])`. The total return is
 * `TR[t] = PR[t] G[t]`, which equals `TR[t-1] (PR[t] + DP[t]) / PR[t-1]`. In this form a price of one session has no
 * effect on later levels.
 * @source S&P DJI, Index Mathematics Methodology: total return calculations
 */
export function computeReinvestedIncome(income: number, dividendReturn: number): number {
  return income * (1 + dividendReturn);
}

/**
 * Converts ordinary dividends of a session from a fraction of the market value at its close to points of the price
 * return.
 */
export function computeDividendPoints(priceReturn: number, dividendReturn: number): number {
  return priceReturn * dividendReturn;
}
