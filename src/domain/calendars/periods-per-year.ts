import { LIMITS } from '../refusals/limits.js';
import { weekdayOf, type Day } from '../time/days.js';

/**
 * Sessions of a year, by which figures of a session are annualised: 365 where sessions follow each other day by day
 * through a weekend, as on a calendar that trades every day, else 252.
 * @param days ascending, each once: the sessions of a calendar, or the dates of a series.
 * @cost O(1)
 */
export function periodsPerYear(days: ArrayLike<Day>): number {
  const { length } = days;
  const isUnbroken = length > 1 && days[0]! + length - 1 === days[length - 1];
  return isUnbroken && hasWeekend(days[0]!, length) ? LIMITS.DAYS_PER_YEAR : LIMITS.PERIODS_PER_YEAR;
}

/** Whether consecutive days have a Saturday with the Sunday after it. */
function hasWeekend(first: Day, count: number): boolean {
  return (SATURDAY - weekdayOf(first) + 7) % 7 < count - 1;
}

const SATURDAY = 5;
