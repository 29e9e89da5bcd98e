import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
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

/**
 * Returns the number of returns on common dates per year, by which figures of two series are annualised. It is smaller
 * than the number of sessions per year if a series has dates between two common dates, because a common return then
 * covers several sessions. The series with more of these dates determines the number.
 * @param common dates of both series, ascending; each series contains them
 * @cost O(log n)
 */
export function estimateCommonPeriods(common: ArrayLike<Day>, ...series: readonly ArrayLike<Day>[]): number {
  const returns = common.length - 1;
  if (returns < 1) return estimatePeriodsPerYear(series[0] ?? common);
  const periods = series.map((days) => {
    const count = findLastAtMost(days, common[returns]!) - findFirstAtLeast(days, common[0]!);
    const sessions = estimatePeriodsPerYear(days);
    return count === returns ? sessions : (sessions * returns) / count;
  });
  return Math.min(...periods);
}

/** Returns true if consecutive days include a Saturday and the Sunday after it. */
function hasWeekend(first: Day, count: number): boolean {
  return (SATURDAY - toWeekday(first) + 7) % 7 < count - 1;
}

const SATURDAY = 5;
