import { toCivilDate } from '../time/days.js';
import { LIMITS } from '../refusals/limits.js';
import { computeDeviation } from './series.js';

/**
 * Computes the annualised standard deviation of the trailing returns at each date.
 * @param returns [n]
 * @param window number of returns, at least 2
 * @param periodsPerYear sessions of a year
 * @returns one value per complete window, the first at return `window - 1`, [n - window + 1]; none with fewer returns
 * @cost O(n window)
 */
export function computeRollingVolatility(
  returns: Float64Array,
  window: number,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): Float64Array {
  const scale = Math.sqrt(periodsPerYear);
  const values = new Float64Array(Math.max(0, returns.length - window + 1));
  for (let i = 0; i < values.length; i++) values[i] = computeDeviation(returns.subarray(i, i + window)) * scale;
  return values;
}

export interface MonthReturn {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly value: number;
}

/**
 * Computes the return of each calendar month. It is the last level of the month over the last level of the previous
 * month. For the first month it is the last level over the first level.
 * @returns months ascending; they compound to the total return.
 */
export function computeMonthlyReturns(days: Int32Array, level: Float64Array): MonthReturn[] {
  const months: MonthReturn[] = [];
  let start = level[0]!;
  for (let t = 1; t < level.length; t++) {
    const { year, month } = toCivilDate(days[t]!);
    const next = t + 1 < level.length ? toCivilDate(days[t + 1]!) : null;
    if (next?.month === month && next.year === year) continue;
    months.push({ year, month, value: level[t]! / start - 1 });
    start = level[t]!;
  }
  return months;
}
