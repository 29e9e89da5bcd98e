import { parseDayNumber } from '../../words/dates.js';

/** First and last date of the backtests; the last date is null if no run has reached one. */
export interface Period {
  readonly start: string;
  readonly end: string | null;
}

/**
 * Minimum number of weekdays for a test of the choice by its default folds: 10 groups, from each of which up to 3
 * sessions and 1% of all sessions are excluded, and which keep 2 returns.
 */
const WEEKDAYS_MIN = 70;

/** Returns true if a period is long enough for a test of the choice. A period without an end is. */
export const canTestChoice = ({ start, end }: Period): boolean =>
  end === null || ((parseDayNumber(end) - parseDayNumber(start)) * 5) / 7 >= WEEKDAYS_MIN;
