import type { CorporateAction } from '#domain/market/market-data.js';
import type { Report } from './accounts.js';

/** Properties of a security at its listing. */
export interface Birth {
  readonly identifier: string;
  readonly name: string;
  /** First random stream of the security. */
  readonly stream: number;
  /**
   * Position among the securities that may acquire others. Securities with lower positions are generated first. Null
   * for spun-off securities.
   */
  readonly rank: number | null;
  readonly sector: number;
  readonly industry: string;
  /** Position of the first session among the sessions of the market. */
  readonly listed: number;
  readonly price: number;
  /** Shares outstanding at the first session. */
  readonly shares: number;
}

/** Bars of a security from its first session on. */
export interface Bars {
  readonly open: Float64Array;
  readonly high: Float64Array;
  readonly low: Float64Array;
  readonly close: Float64Array;
  readonly volume: Float64Array;
  readonly shares: Float64Array;
  readonly freeFloat: Float64Array;
  /** 1 for a bar that is not published. */
  readonly missing: Uint8Array;
}

/** History of a security within the window. */
export interface Company {
  readonly birth: Birth;
  readonly bars: Bars;
  /** Number of bars. */
  readonly count: number;
  /** Session of the ending. It is null while the security is listed. */
  readonly ended: number | null;
  readonly actions: readonly CorporateAction[];
  /** Published reports in order of days, including reports published after the last session. */
  readonly reports: readonly Report[];
  /** Spun-off securities. */
  readonly children: readonly Birth[];
}
