import type { RebalanceRow } from '#clients/typescript/divisor.js';
import { parseDayNumber } from './dates.js';

const DAYS_PER_YEAR = 365.25;

/**
 * Adds up a figure of the rebalances and returns the sum per year, from the first to the last rebalance. Returns null
 * for fewer than two rebalances. The first composition has no turnover.
 */
export function computeYearlySum<R extends Pick<RebalanceRow, 'date'>>(
  rebalances: readonly R[],
  readValue: (row: R) => number | null,
): number | null {
  const [first, last] = [rebalances[0], rebalances.at(-1)];
  if (first === undefined || last === undefined || first === last) return null;
  const years = (parseDayNumber(last.date) - parseDayNumber(first.date)) / DAYS_PER_YEAR;
  const sum = rebalances.reduce((total, row) => total + (readValue(row) ?? 0), 0);
  return sum / years;
}
