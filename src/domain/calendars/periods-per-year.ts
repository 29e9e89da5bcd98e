import { LIMITS } from '../refusals/limits.js';
import { toWeekday, type Day } from '../time/days.js';

/**
 * Returns the number of sessions per year, by which figures are annualised. It is 365 if the days are consecutive and
 * include a weekend, as on a calendar that trades every day, otherwise 252.
 * @param days ascending, without duplicates: the sessions of a calendar, or the dates of a series.
 * @cost O(1)
 */
export function estimatePeriodsPerYear(days: ArrayLike<Day>): number {
  const { length } = days;
  const isUnbroken = length > 1 && days[0]! + length - 1 === days[length - 1];
  return isUnbroken && hasWeekend(days[0]!, length) ? LIMITS.DAYS_PER_YEAR : LIMITS.PERIODS_PER_YEAR;
}

/** Returns true if consecutive days include a Saturday and the Sunday after it. */
function hasWeekend(first: Day, count: number): boolean {
  return (SATURDAY - toWeekday(first) + 7) % 7 < count - 1;
}

const SATURDAY = 5;
