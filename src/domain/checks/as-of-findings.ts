import { parseValidDay, formatDay } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';

/**
 * Maximum number of days between the last prices and a requested date. This many days can be a weekend with holidays
 * and are not a gap in the data.
 */
const GAP_DAYS_MAX = 7;

/** Warns about a date outside the data. @param dates dates of the market, ascending */
export function checkAsOf(asOf: string, dates: ArrayLike<number>): Finding[] {
  const [first, last] = [dates[0], dates[dates.length - 1]];
  if (first === undefined || last === undefined) return [];
  const day = parseValidDay(asOf);
  const createWarning = (code: Finding['code'], message: string): Finding[] => [
    { severity: 'warning', code, path: 'as_of', message, value: asOf },
  ];
  if (day < first)
    return createWarning(
      'INVALID_RANGE',
      `as_of ${asOf} is before the first date of the data, ${formatDay(first)}, so no security can be selected.`,
    );
  if (day > last + GAP_DAYS_MAX)
    return createWarning(
      'WINDOW_CUT',
      `as_of ${asOf} is after the last date of the data, ${formatDay(last)}. Decisions use that date.`,
    );
  return [];
}
