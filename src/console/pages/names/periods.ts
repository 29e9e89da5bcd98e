import type { Line } from '../../components/chart/series.js';
import { parseDayNumber, subtractMonths } from '../../words/dates.js';

/** Series of a security. It has values on some of the dates of the security. */
export interface Traded {
  readonly dates: readonly string[];
  readonly values: Line['values'];
  /** Period of each value; empty for single sessions. */
  readonly period: '' | 'week' | 'month';
}

/** Maximum number of sessions that are shown one by one, and maximum number that are shown by week. */
const DAYS_MAX = 400;
const WEEKS_MAX = 1500;

/**
 * Averages a series over weeks or months, so that the bars of a long series stay distinct. Each average is on the first
 * date of its period.
 * @param sessions number of visible sessions, which determines the period
 */
export function averagePeriods(dates: readonly string[], values: Line['values'], sessions: number): Traded {
  if (sessions <= DAYS_MAX) return { dates, values, period: '' };
  const period = sessions <= WEEKS_MAX ? 'week' : 'month';
  const formatPeriodKey = period === 'week' ? formatWeekKey : (date: string) => date.slice(0, 7);
  const sums = new Map<string, { readonly date: string; sum: number; count: number }>();
  for (const [t, date] of dates.entries()) {
    const key = formatPeriodKey(date);
    const group = sums.get(key) ?? { date, sum: 0, count: 0 };
    sums.set(key, group);
    const value = values[t] ?? null;
    if (value === null) continue;
    group.sum += value;
    group.count++;
  }
  const groups = [...sums.values()];
  return {
    dates: groups.map(({ date }) => date),
    values: groups.map(({ sum, count }) => (count === 0 ? null : sum / count)),
    period,
  };
}

/** Returns the number of the week of a date as a text. Weeks start on Mondays; 1970-01-05 was a Monday. */
const formatWeekKey = (date: string): string => String(Math.floor((Date.parse(date) / 86_400_000 - 4) / 7));

interface Closes {
  readonly dates: readonly string[];
  readonly closes: readonly number[];
}

/** Returns the closes of the year that ends on a date, with their positions on its axis from 0 to 1. */
export function placeOnAxis({ dates, closes }: Closes, end: string) {
  const start = subtractMonths(end, 12);
  // The base of the one-year return may be a few days before the axis. It is drawn at its start.
  const first = dates.findIndex((date, at) => date >= start || (dates[at + 1] ?? '') > start);
  if (first < 0) return { closes: [], positions: [] };
  const [startDay, endDay] = [parseDayNumber(start), parseDayNumber(end)];
  return {
    closes: closes.slice(first),
    positions: dates.slice(first).map((date) => Math.max(0, (parseDayNumber(date) - startDay) / (endDay - startDay))),
  };
}
