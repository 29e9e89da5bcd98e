/** Parameters of a synthetic market, named as in the request. Equal specs give equal bits on every platform. */
export interface SyntheticSpec {
  readonly seed: number;
  /** Number of securities listed on the first session. */
  readonly assets: number;
  /** Days of the calendar the market trades on, ascending. */
  readonly sessions: Int32Array;
  /** MIC of the calendar. */
  readonly exchange: string;
  readonly currency: string;
  readonly sectors: number;
  /** Expected return and volatility of the common factor, a year. */
  readonly market_return: number;
  readonly market_volatility: number;
  /** Annual specific volatility, mean over securities. */
  readonly specific_volatility: number;
  /** Mean yield over securities, paid quarterly. */
  readonly dividend_yield: number;
  readonly splits_per_year: number;
  readonly delistings_per_year: number;
  readonly listings_per_year: number;
  readonly missing_rate: number;
}

/** Version of the generator. Data of another version cannot be extended. */
export const GENERATOR = 2;

/** Sessions of a year, on every calendar. */
export const SESSIONS_PER_YEAR = 252;
