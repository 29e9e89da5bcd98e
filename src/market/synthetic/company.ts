import type { CorporateAction } from '#domain/market/market-data.js';
import type { Report } from './accounts.js';

/** Properties of a security at its listing. */
export interface Birth {
  readonly identifier: string;
  readonly name: string;
  /** Stream of its random numbers. */
  readonly stream: number;
  /**
   * Position among the securities that may acquire others; lower ones are generated first. Null for spun-off
   * securities.
   */
  readonly rank: number | null;
  readonly sector: number;
  readonly industry: string;
  /** First session. */
  readonly listed: number;
  readonly price: number;
  /** Shares outstanding at the start. */
  readonly shares: number;
}

/** The bars of a name from its first session on. */
export interface Bars {
  readonly open: Float64Array;
  readonly high: Float64Array;
  readonly low: Float64Array;
  readonly close: Float64Array;
  readonly volume: Float64Array;
  readonly shares: Float64Array;
  readonly freeFloat: Float64Array;
  /** 1 where the bar is not published. */
  readonly missing: Uint8Array;
}

/** History of a security within the window. */
export interface Company {
  readonly birth: Birth;
  readonly bars: Bars;
  /** Bars it has. */
  readonly count: number;
  /** Session of its ending; null while it lives. */
  readonly ended: number | null;
  readonly actions: readonly CorporateAction[];
  /** Published reports in order of days, including reports after the last session. */
  readonly reports: readonly Report[];
  /** Names it spun off. */
  readonly children: readonly Birth[];
}
