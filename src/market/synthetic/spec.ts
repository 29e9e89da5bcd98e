/**
 * Parameters of a synthetic market; the names are those of the request. Equal specs give equal bits on every platform.
 */
export interface SyntheticSpec {
  readonly seed: number;
  /** Names alive on the first session. */
  readonly assets: number;
  /** Days of the calendar the market trades on, ascending. */
  readonly sessions: Int32Array;
  /** MIC of that calendar. */
  readonly exchange: string;
  readonly currency: string;
  readonly sectors: number;
  /** Expected return and volatility of the common factor, a year. */
  readonly market_return: number;
  readonly market_volatility: number;
  /** Annual specific volatility, mean over securities. */
  readonly specific_volatility: number;
  /** Mean yield over names, paid in quarters. */
  readonly dividend_yield: number;
  readonly splits_per_year: number;
  readonly delistings_per_year: number;
  readonly listings_per_year: number;
  readonly missing_rate: number;
}

/** Version of the generator: data of another version cannot be extended by this one. */
export const GENERATOR = 2;

/** Sessions of a year, on every calendar. */
export const SESSIONS_PER_YEAR = 252;
