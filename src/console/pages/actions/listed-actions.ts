import type { DeskAction } from '#clients/typescript/divisor.js';

/** Maximum number of actions in the list. */
export const LISTED_MAX = 1000;

/** Days of the list of past actions. */
export const YEAR_DAYS = 365;

export interface ListedActions {
  readonly actions: readonly DeskAction[];
  /** Last session of the store. */
  readonly last: string | null;
  /** Current UTC date. */
  readonly today: string;
  readonly open: string | null;
  /** First listed ex-date. */
  readonly from: string;
  /** True if future actions are listed first. */
  readonly isComing: boolean;
}
