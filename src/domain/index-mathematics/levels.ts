/**
 * Returns the level after a session: `TR[t] = TR[t-1] (PR[t] + DP[t]) / PR[t-1]`. The inputs are the growth of the
 * price return, `PR[t] / PR[t-1]`, and the dividends that the return variant reinvests, `DP[t] / PR[t]`.
 * @source S&P DJI, Index Mathematics Methodology: total return calculations
 */
export function computeNextLevel(level: number, growth: number, dividendReturn: number): number {
  return level * growth * (1 + dividendReturn);
}

/**
 * Converts ordinary dividends of a session from a fraction of the market value at its close to points of the price
 * return.
 */
export function computeDividendPoints(priceReturn: number, dividendReturn: number): number {
  return priceReturn * dividendReturn;
}
