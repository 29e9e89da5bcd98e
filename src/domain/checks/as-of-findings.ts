import { dayFrom, formatDay } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';

/** Days between the last prices and a date asked for that are no gap: a weekend and holidays around it. */
const GAP_DAYS_MAX = 7;

/** Warnings about a date that the data does not reach. @param dates of the market, ascending */
export function asOfFindings(asOf: string, dates: ArrayLike<number>): Finding[] {
  const [first, last] = [dates[0], dates[dates.length - 1]];
  if (first === undefined || last === undefined) return [];
  const day = dayFrom(asOf);
  const warning = (code: Finding['code'], message: string): Finding[] => [
    { severity: 'warning', code, path: 'as_of', message, value: asOf },
  ];
  if (day < first)
    return warning(
      'INVALID_RANGE',
      `as_of ${asOf} is before the first date of the data, ${formatDay(first)}: no name is decided.`,
    );
  if (day > last + GAP_DAYS_MAX)
    return warning(
      'WINDOW_CUT',
      `as_of ${asOf} is after the last date of the data, ${formatDay(last)}, on which names are decided.`,
    );
  return [];
}
